package dev.redlock.node;

import dev.redlock.transport.NodeAddress;
import dev.redlock.transport.VoterAddress;

/**
 * Where a node is: its configured address, and the server that this leads to now.
 *
 * @threading any thread for reads; the event loop writes
 */
final class NodePlace {

    private final VoterAddress configured;
    /** Null if Sentinels have not named it yet. */
    volatile NodeAddress server;
    /** Why nobody shows a change of the server; null if somebody does. */
    volatile String problem;

    NodePlace(VoterAddress configured) {
        this.configured = configured;
        this.server = configured instanceof NodeAddress address ? address : null;
    }

    /** The configured address, without user and password. */
    @Override
    public String toString() {
        return String.valueOf(configured);
    }
}
