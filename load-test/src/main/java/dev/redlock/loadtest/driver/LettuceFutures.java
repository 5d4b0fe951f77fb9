package dev.redlock.loadtest.driver;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;

/**
 * Sends commands in the way of the library's guide: with a future for each, a write for each, and the library's
 * timeouts.
 *
 * @threading any thread
 */
final class LettuceFutures implements LettuceWire {
    private final ClientResources resources = DefaultClientResources.create();

    @Override
    public ClientResources resources() {
        return resources;
    }

    @Override
    public ClientOptions.Builder options() {
        return ClientOptions.builder().timeoutOptions(TimeoutOptions.enabled(LettuceSession.NODE_TIMEOUT));
    }

    @Override
    public void onConnected(StatefulRedisConnection<byte[], byte[]> connection) {
        // Commands are flushed one by one, which is the default.
    }

    @Override
    public void execute(LettuceRound round) {
        round.handle().send(round);
    }

    @Override
    public void send(StatefulRedisConnection<byte[], byte[]> connection, CommandType type,
            CommandArgs<byte[], byte[]> args, LettuceRound round, int node) {
        AsyncCommand<byte[], byte[], Long> command = new AsyncCommand<>(
                new Command<>(type, new LettuceVote(), args));
        connection.dispatch(command);
        command.whenComplete((reply, failure) -> round.handle().onAnswer(round, node, reply, failure));
    }

    @Override
    public void close() {
        LettuceSession.shutDown(resources);
    }
}
