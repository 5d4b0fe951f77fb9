package dev.redlock.engine;

import dev.redlock.engine.callback.CallbackExecutor;
import dev.redlock.time.NanoClock;

/**
 * The client of a lease, as far as the lease and its outcome ask it.
 *
 * @threading any thread
 */
public abstract class LeaseClient {

    final ClientConfig config;
    final NanoClock clock;
    final CallbackExecutor callbacks;
    /** Time that a blocking call spins before it parks. */
    final long spinNs;
    /** Whether the close of a lease waits for its release. */
    final boolean closeWaits;

    LeaseClient(ClientConfig config, NanoClock clock) {
        this.config = config;
        this.clock = clock;
        this.callbacks = config.loops().callbacks();
        this.spinNs = config.attempts().spinNs();
        this.closeWaits = config.attempts().closeWaits();
    }

    /** @return what runs the functions of the user that may take time */
    public final CallbackExecutor callbacks() {
        return callbacks;
    }

    /** @return number of nodes */
    public final int nodeCount() {
        return config.nodes().addresses().size();
    }

    /** The present problem of a node, of its first event loop that has one; null if there is none. */
    abstract String problemOf(int nodeIndex);

    /** Whether a quorum can do without some nodes. */
    final boolean isQuorumWithout(long nodes) {
        return !config.nodes().majority().isPreventedBy(nodes);
    }

    /** Advice if a quorum was out of reach because of a number of nodes in quarantine; null if no time is known. */
    abstract String quarantineAdvice(int count);

    /** @return true on one of the client's event loops */
    public abstract boolean isOnLoop();

    /**
     * Rejects a blocking call on any of the client's loops: a blocked loop would stall every resource that maps to it.
     *
     * @throws IllegalStateException on the client's event loop
     */
    public abstract void refuseOnLoop(String call, String instead);
}
