package dev.redlock.loadtest.driver;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.resource.ClientResources;

/**
 * How commands get onto Lettuce's connections.
 *
 * @threading any thread
 */
interface LettuceWire extends AutoCloseable {
    ClientResources resources();

    ClientOptions.Builder options();

    /** A connection is ready, its scripts are loaded. */
    void onConnected(StatefulRedisConnection<byte[], byte[]> connection);

    /** Runs what sends a round, where sending is done. */
    void execute(LettuceRound round);

    /** Sends one command; the round hears its answer. */
    void send(StatefulRedisConnection<byte[], byte[]> connection, CommandType type, CommandArgs<byte[], byte[]> args,
            LettuceRound round, int node);

    @Override
    void close();
}
