package dev.redlock.trial.nodes;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Stream;

/**
 * Free loopback ports below the ranges from which systems take the ports of outgoing connections. Inside those ranges
 * a client that keeps reconnecting to a stopped node can be given the node's own port as its source port: it then
 * talks to itself, and the node cannot come back.
 *
 * @threading any thread
 */
public final class FreePorts {
    private static final int FIRST = 10_000;
    private static final int LAST = 32_000;
    private static final int TRIES_MAX = 200;

    /** A port that was free a moment ago. */
    public static int next() {
        for (int i = 0; i < TRIES_MAX; i++) {
            int port = ThreadLocalRandom.current().nextInt(FIRST, LAST);
            if (isFree(port)) {
                return port;
            }
        }
        throw new IllegalStateException(
                "no free loopback port in " + FIRST + ".." + LAST + " after " + TRIES_MAX + " random tries");
    }

    public static List<Integer> distinct(int count) {
        return Stream.generate(FreePorts::next).distinct().limit(count).toList();
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket()) {
            socket.setReuseAddress(true);
            socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            return true;
        } catch (IOException e) {
            return false;
        }
    }
}
