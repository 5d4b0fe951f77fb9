package dev.redlock.trial.faults;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Runs this program again inside the clients' namespace of a network made for it, and removes the network afterwards:
 * when the inner program ends, on Ctrl-C, and when this process is killed.
 *
 * @threading caller-confined
 */
public final class NetworkRun {
    private static final long END_LIMIT_SECONDS = 30;

    /** Creates the network, runs the program, and removes the network. An interrupt ends the program. */
    public static int run(String prefix, int nodes, List<String> program)
            throws IOException, InterruptedException {
        NodeNetwork network = new NodeNetwork(prefix, nodes);
        try (NetworkGuard guard = NetworkGuard.start(network.namespaces())) {
            network.make();
            Process inner = start(network, program);
            Thread hook = new Thread(() -> end(inner, guard), "node-network-end");
            Runtime.getRuntime().addShutdownHook(hook);
            try {
                return inner.waitFor();
            } finally {
                inner.destroy();
                unhook(hook);
            }
        }
    }

    private static Process start(NodeNetwork network, List<String> program) throws IOException {
        String[] words = program.toArray(String[]::new);
        return new ProcessBuilder(network.entering(network.clients(), words)).inheritIO().start();
    }

    private static void end(Process inner, NetworkGuard guard) {
        inner.destroy();
        try {
            inner.waitFor(END_LIMIT_SECONDS, TimeUnit.SECONDS);
            guard.close();
        } catch (IOException e) {
            System.err.println("node network: " + e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void unhook(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The JVM is ending: the hook does the rest.
            return;
        }
    }
}
