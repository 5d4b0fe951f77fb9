package dev.redlock.loadtest.driver;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.resource.ClientResources;

/**
 * Sends commands on Lettuce's connections.
 *
 * @threading any thread
 */
interface LettuceWire extends AutoCloseable {
    ClientResources resources();

    ClientOptions.Builder options();

    /** A connection is ready, its scripts are loaded. */
    void onConnected(StatefulRedisConnection<byte[], byte[]> connection);

    /** Runs the sending of a round on the thread that sends. */
    void execute(LettuceRound round);

    /** Sends one command; the round gets its reply. */
    void send(StatefulRedisConnection<byte[], byte[]> connection, CommandType type, CommandArgs<byte[], byte[]> args,
            LettuceRound round, int node);

    @Override
    void close();
}
