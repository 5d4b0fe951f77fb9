package dev.redlock.cli;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespValueReader;
import dev.redlock.resp.RespWriter;
import dev.redlock.transport.NodeAddress;
import io.netty.buffer.Unpooled;
import java.util.List;
import java.util.logging.LogManager;

/**
 * Loads the classes of a connection while picocli reads the command line: each takes half of the start.
 *
 * @threading caller-confined
 */
final class EarlyLoading extends Thread {

    private static final byte[] REPLY = {'*', '1', '\r', '\n', '$', '1', '\r', '\n', '0', '\r', '\n'};

    private static EarlyLoading running;

    private EarlyLoading() {
        super("early-loading");
    }

    /** Called once, by the program that a user has started. */
    static void begin() {
        running = new EarlyLoading();
        running.setDaemon(true);
        running.start();
    }

    /** Waits for the end, before the first use of these classes: two threads that initialize them could deadlock. */
    static void await() {
        if (running != null) {
            try {
                running.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public void run() {
        // What the client would log is in the answers.
        LogManager.getLogManager().reset();
        RespWriter.bulkString(Unpooled.buffer(), REPLY);
        RespValueReader.readAll(Unpooled.wrappedBuffer(REPLY), RespLimits.defaults());
        List.of("127.0.0.1:6379").stream().map(NodeAddress::parse).toList();
    }
}
