package dev.redlock.engine;

import dev.redlock.engine.key.LockKey;
import dev.redlock.node.send.LockKind;

/**
 * What a retained lock cannot be together with.
 *
 * @threading any thread
 */
final class RetainedOptions {

    private RetainedOptions() {
    }

    /**
     * Rejects options for a lock that a client retains, if they or the client do not allow it.
     *
     * @param key the key of the resource, or that of a set
     * @throws IllegalArgumentException if they do not
     */
    static void check(AcquireSpec spec, LockKey key, ClientConfig config, boolean hasClusters) {
        String other = key.kind != LockKind.PLAIN
                ? "several resources"
                : spec.kind != LockKind.PLAIN
                        ? spec.kindText().substring(2)
                        : spec.isFenced
                                ? "fenced()"
                                : spec.holdNsMin > 0
                                        ? "holdAtLeast()"
                                        : spec.extensionCountMax > 0 ? "autoExtend()" : null;
        if (other != null) {
            throw new IllegalArgumentException("options for \"" + key + "\" have retain() together with " + other
                    + ": leave one of them out");
        }
        String client = config.limits().retainedLeasesMax() == 0
                ? "has retainedLeasesMax 0"
                : config.limits().wakeUpKeysMax() == 0
                        ? "has no wake-ups, which report that another client wants the lock"
                        : config.attempts().isThrifty()
                                ? "has thriftyQuorums, and a retained lock needs all nodes"
                                : hasClusters ? "has a cluster as a node" : null;
        if (client != null) {
            throw new IllegalArgumentException("options for \"" + key + "\" have retain(), but the client " + client
                    + ": leave retain() out, or change the client");
        }
    }
}
