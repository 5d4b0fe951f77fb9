package dev.redlock.loadtest.consensus;

import dev.redlock.loadtest.nodes.FreePorts;
import dev.redlock.transport.NodeAddress;
import java.util.HashSet;
import java.util.Set;

/**
 * Distinct free ports of loopback for the servers of one group.
 *
 * @threading caller-confined
 */
final class Ports {
    static final String HOST = "127.0.0.1";

    private final Set<Integer> taken = new HashSet<>();

    int next() {
        int port = FreePorts.next();
        while (!taken.add(port)) {
            port = FreePorts.next();
        }
        return port;
    }

    NodeAddress nextAddress() {
        return NodeAddress.parse(HOST + ":" + next());
    }
}
