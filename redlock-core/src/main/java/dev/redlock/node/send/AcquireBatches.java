package dev.redlock.node.send;

/**
 * The first attempts of one turn, which a node that has {@code MSETEX} gets as one command: it sets a key for less than
 * a {@code SET} of its own costs. All other nodes get a {@code SET} for each.
 *
 * <ul>
 * <li><b>All or none.</b> A node that has one of the keys refuses the batch and has set none. Then it gets a
 * {@code SET} for each, a round trip later. So a token is executed once, and each vote is that of its own key.
 * <li><b>No key twice.</b> The command would set the key twice, for two holders. So a resource that may be in the batch
 * already begins another one.
 * <li><b>Few refusals.</b> A refused batch costs its other acquires a round trip. So its length halves after each, and
 * doubles after some hundred acquires. Only first attempts come here: the others register for a push, by a script.
 * </ul>
 *
 * <p>They wait for the end of the turn beside the {@link FollowingAcquires}. Any other command for one of their
 * resources sends them first.
 *
 * @threading event-loop-confined
 */
final class AcquireBatches {

    /** Bytes of keys that are enough for one command. */
    private static final int KEY_BYTES_MAX = 16 * 1024;
    /** Acquires after which batches may be twice as long again. */
    private static final int ACQUIRES_UNTIL_LONGER = 512;

    private final int limit;
    private final ResourceFilter resources = new ResourceFilter();
    private int lengthMax;
    private int untilLonger;

    /** Batches of up to so many acquires. */
    AcquireBatches(int limit) {
        this.limit = limit;
        this.lengthMax = limit;
    }

    /** The number of the next acquires that leave as one command, at most a limit; 1 if the next one leaves alone. */
    int nextLength(FollowingAcquires acquires, int countMax) {
        int max = Math.min(countMax, lengthMax);
        int length = max < 2 ? 1 : length(acquires, max);
        grow(length);
        return length;
    }

    private int length(FollowingAcquires acquires, int max) {
        long ttlMs = acquires.next().ttlMs;
        int keyBytes = 0;
        int length = 0;
        while (length < max && keyBytes <= KEY_BYTES_MAX) {
            LockRequest each = acquires.get(length);
            if (each.ttlMs != ttlMs || resources.mightContain(each)) {
                break;
            }
            resources.add(each);
            keyBytes += each.resourceBulk().length;
            length++;
        }
        resources.clear();
        return length;
    }

    private void grow(int acquireCount) {
        untilLonger -= acquireCount;
        if (untilLonger <= 0 && lengthMax < limit) {
            lengthMax = Math.min(limit, 2 * lengthMax);
            untilLonger = ACQUIRES_UNTIL_LONGER;
        }
    }

    /** A node has refused a batch. */
    void onRefused() {
        lengthMax = Math.max(1, lengthMax / 2);
        untilLonger = ACQUIRES_UNTIL_LONGER;
    }
}
