package dev.redlock.quorum;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/**
 * A random walk through the states that {@link FenceSearch} visits in full, for any number of nodes: overlapping grants
 * of one resource, late and lost requests, lost replies, keys that vanish.
 */
final class OverlappingGrants {

    private static final int ACTIVE_MAX = 3;
    private static final int NOBODY = -1;

    private enum Phase {
        ACQUIRING, RAISING, HELD, GIVEN_BACK
    }

    private final class Grant {
        private final int id = startedCount++;
        private final long greatestBefore = greatestToken;
        private final FenceRule fence = new FenceRule(Majority.of(nodeCount));
        private final long[] values = new long[nodeCount];
        private Phase phase = Phase.ACQUIRING;
        private long raiseTo;
        private long raisePending;
        private long releasePending;
        private long highest;
    }

    private final int nodeCount;
    private final int quorum;
    private final FenceSearch.Rule rule;
    private final Random random;
    private final long[] counters;
    private final int[] holders;
    private final List<Grant> active = new ArrayList<>();
    private final Set<Long> tokens = new HashSet<>();
    private long greatestToken;
    private int startedCount;
    private int raisedCount;
    private String violation;

    OverlappingGrants(int nodeCount, FenceSearch.Rule rule, Random random) {
        this.nodeCount = nodeCount;
        this.quorum = nodeCount / 2 + 1;
        this.rule = rule;
        this.random = random;
        this.counters = random.longs(nodeCount, 0, 3).toArray();
        this.holders = new int[nodeCount];
        Arrays.fill(holders, NOBODY);
    }

    void run(int steps) {
        for (int i = 0; i < steps && violation == null; i++) {
            step();
        }
    }

    String violation() {
        return violation;
    }

    int decidedCount() {
        return tokens.size();
    }

    int raisedCount() {
        return raisedCount;
    }

    private void step() {
        int node = random.nextInt(nodeCount);
        if (random.nextInt(40) == 0) {
            holders[node] = NOBODY;
        }
        if (active.isEmpty() || active.size() < ACTIVE_MAX && random.nextInt(10) == 0) {
            active.add(new Grant());
        }
        Grant grant = active.get(random.nextInt(active.size()));
        switch (random.nextInt(8)) {
            case 0, 1, 2 -> acquire(grant, node);
            case 3 -> raise(grant, node);
            case 4, 5 -> release(grant, node);
            case 6 -> decide(grant);
            default -> {
                if (random.nextInt(3) == 0) {
                    giveBack(grant);
                }
            }
        }
    }

    private void acquire(Grant grant, int node) {
        boolean isReleased = grant.phase == Phase.GIVEN_BACK && (grant.releasePending & 1L << node) == 0;
        if (grant.values[node] == 0 && holders[node] == NOBODY && !isReleased) {
            holders[node] = grant.id;
            grant.values[node] = ++counters[node];
        }
    }

    private void raise(Grant grant, int node) {
        long bit = 1L << node;
        if ((grant.raisePending & bit) == 0) {
            return;
        }
        grant.raisePending &= ~bit;
        if (holders[node] == grant.id && counters[node] <= grant.raiseTo) {
            counters[node] = grant.raiseTo;
            if (random.nextInt(4) > 0 && grant.phase == Phase.RAISING) {
                grant.fence.onRaised(node, grant.raiseTo);
            }
        }
    }

    private void release(Grant grant, int node) {
        long bit = 1L << node;
        if ((grant.releasePending & bit) == 0) {
            return;
        }
        grant.releasePending &= ~bit;
        grant.raisePending &= ~bit;
        counters[node] = Math.max(counters[node], grant.highest);
        if (holders[node] == grant.id) {
            holders[node] = NOBODY;
        }
        if (grant.releasePending == 0) {
            active.remove(grant);
        }
    }

    private void giveBack(Grant grant) {
        if (grant.phase != Phase.GIVEN_BACK) {
            grant.phase = Phase.GIVEN_BACK;
            grant.releasePending = Quorum.allOf(nodeCount);
            // A late reply may have been read or not.
            grant.highest = Math.max(grant.fence.highest(), grant.values[random.nextInt(nodeCount)]);
        }
    }

    private void decide(Grant grant) {
        if (grant.phase == Phase.RAISING) {
            if (Long.bitCount(grant.fence.nodesAt(grant.raiseTo)) >= quorum) {
                raisedCount++;
                hold(grant, grant.raiseTo);
            }
        } else if (grant.phase == Phase.ACQUIRING) {
            decideOnAnswers(grant);
        }
    }

    /** Some of the grants have a reply, in some order. */
    private void decideOnAnswers(Grant grant) {
        grant.fence.reset();
        int first = random.nextInt(nodeCount);
        long lost = random.nextBoolean() ? 0 : random.nextLong() & random.nextLong();
        long[] seen = new long[nodeCount];
        int count = 0;
        for (int i = 0; i < nodeCount; i++) {
            int node = (first + i) % nodeCount;
            if (grant.values[node] > 0 && (lost & 1L << node) == 0) {
                grant.fence.onGrant(node, grant.values[node]);
                seen[count++] = grant.values[node];
            }
        }
        if (count < quorum) {
            grant.fence.reset();
            return;
        }
        Arrays.sort(seen, 0, count);
        long token = switch (rule) {
            case EXACTLY -> grant.fence.agreed();
            case AT_LEAST -> seen[count - (quorum - (nodeCount - count))];
            case MAX_WITHOUT_RAISE -> seen[count - 1];
        };
        if (token != FenceRule.NONE) {
            hold(grant, token);
        } else {
            grant.phase = Phase.RAISING;
            grant.raiseTo = grant.fence.highest();
            grant.raisePending = grant.fence.lagging();
        }
    }

    private void hold(Grant grant, long token) {
        grant.phase = Phase.HELD;
        if (!tokens.add(token)) {
            violation = token + " was given twice";
        } else if (token <= grant.greatestBefore) {
            violation = token + " was given to a grant that began after " + grant.greatestBefore + " was";
        }
        greatestToken = Math.max(greatestToken, token);
    }
}
