package dev.redlock.quorum;

import dev.redlock.search.StateSearch;

/**
 * Visits every state that two clients can reach over two plain masters and one cluster that fails over, and checks in
 * each that at most one of them has a valid lease. Events in any order and at any time:
 * <ul>
 * <li>A client starts, acquires, extends or releases. Its commands reach any of the voters; a release or a rollback may
 * be lost.
 * <li>A replica is promoted, with the key of its master or without, when the rest of the cluster cannot reach the
 * master any more. The deposed master serves clients that have not noticed until its failure detection ends.
 * <li>A client learns of the promotion, or time passes.
 * </ul>
 *
 * <p>The failure detection is that of {@code clusterCron} in {@code cluster_legacy.c} of Redis and Valkey, as
 * {@code dev.redlock.node.cluster.DeposedMaster} describes it. The master pings its peers when their last pong is older
 * than half the node timeout, which is anything from at once to half a timeout after the cut. They fail when that ping
 * has had no reply for a whole timeout. A constant is for the two turns of the cron job that the master needs, and for
 * pongs that are dated ahead. So it serves for 1.5 node timeouts and a constant at most.
 *
 * <p>Times are relative to the present, in whole units, so an endless run has a finite number of states. A slot that
 * moves is the same event with the key kept.
 */
final class SlotSilenceSearch extends StateSearch {

    /** When the cluster is silent. */
    enum Rule {
        /** The rule of the client: for the ttl and the longest service, also for clients that start later. */
        PRODUCT(true),
        /** Wrong: a new owner votes at once. */
        NO_SILENCE(false),
        /** Wrong: silent for the ttl alone. */
        WITHOUT_SERVICE(true),
        /** Wrong: as if the deposed master served for one node timeout. */
        ONE_NODE_TIMEOUT(true),
        /** Wrong: without the constant. */
        WITHOUT_CRON(true),
        /** Wrong: a client that starts after the promotion does not wait. */
        NOT_AT_FIRST_CONTACT(false);

        private final boolean isSilentAtFirstContact;

        Rule(boolean isSilentAtFirstContact) {
            this.isSilentAtFirstContact = isSilentAtFirstContact;
        }

        private byte silence() {
            return (byte) switch (this) {
                case NO_SILENCE -> 0;
                case WITHOUT_SERVICE -> TTL;
                case ONE_NODE_TIMEOUT -> TTL + NODE_TIMEOUT;
                case WITHOUT_CRON -> TTL + PING_AFTER_MAX + NODE_TIMEOUT;
                case PRODUCT, NOT_AT_FIRST_CONTACT -> TTL + SERVED_MAX;
            };
        }
    }

    private static final int TTL = 2;
    private static final int NODE_TIMEOUT = 2;
    /** A quiet peer is pinged after half the node timeout. */
    private static final int PING_AFTER_MAX = NODE_TIMEOUT / 2;
    /** Two turns of the cron job, and pongs that are dated ahead. */
    private static final int CRON = 2;
    /** How long a deposed master serves. */
    private static final int SERVED_MAX = PING_AFTER_MAX + NODE_TIMEOUT + CRON;
    private static final int QUORUM = 2;
    private static final int CLIENTS = 2;
    /** Servers: two plain masters, the first master of the cluster, its replica. */
    private static final int SERVERS = 4;
    private static final int OLD = 2;
    private static final int NEW = 3;
    private static final int VOTERS = 3;
    private static final int CLUSTER = 2;
    private static final int NOT_STARTED = 0;
    private static final int SEES_OLD = 1;
    private static final int SEES_NEW = 2;
    private static final int NOT_FAILED_OVER = SERVED_MAX + 1;

    // The parts of a state.
    /** For each server: free, or the client and the rest of its ttl. */
    private static final int KEYS = 0;
    private static final int LEASES = KEYS + SERVERS;
    private static final int VIEWS = LEASES + CLIENTS;
    private static final int SILENCES = VIEWS + CLIENTS;
    private static final int OLD_SERVES = SILENCES + CLIENTS;
    private static final int LENGTH = OLD_SERVES + 1;
    private static final int BITS = 3;

    private final Rule rule;

    SlotSilenceSearch(Rule rule) {
        super(bits(new int[0], LENGTH, BITS), 0);
        this.rule = rule;
    }

    @Override
    protected void start() {
        byte[] start = new byte[LENGTH];
        start[OLD_SERVES] = NOT_FAILED_OVER;
        visit(start);
    }

    @Override
    protected String violationOf(byte[] state) {
        return state[LEASES] > 0 && state[LEASES + 1] > 0 ? "two holders" : null;
    }

    @Override
    protected void expand(byte[] state) {
        tick(state);
        if (state[OLD_SERVES] == NOT_FAILED_OVER) {
            for (int pingAfter = 0; pingAfter <= PING_AFTER_MAX; pingAfter++) {
                failOver(state, pingAfter, true);
                failOver(state, pingAfter, false);
            }
        }
        for (int client = 0; client < CLIENTS; client++) {
            if (state[VIEWS + client] == NOT_STARTED) {
                start(state, client);
                continue;
            }
            if (state[VIEWS + client] == SEES_OLD && state[OLD_SERVES] != NOT_FAILED_OVER) {
                learn(state, client);
            }
            for (int mask = 1; mask < 1 << VOTERS; mask++) {
                if (state[LEASES + client] == 0) {
                    acquire(state, client, mask);
                } else {
                    extend(state, client, mask);
                }
            }
            if (state[LEASES + client] > 0) {
                release(state, client);
            }
        }
    }

    private void tick(byte[] before) {
        byte[] state = before.clone();
        for (int i = 0; i < SERVERS; i++) {
            state[KEYS + i] = (byte) (leftOf(state[KEYS + i]) > 1 ? state[KEYS + i] - 1 : 0);
        }
        for (int i = 0; i < CLIENTS; i++) {
            decrement(state, LEASES + i);
            decrement(state, SILENCES + i);
        }
        if (state[OLD_SERVES] != NOT_FAILED_OVER) {
            decrement(state, OLD_SERVES);
        }
        visit(state);
    }

    private void failOver(byte[] before, int pingAfter, boolean isKeyKept) {
        byte[] state = before.clone();
        state[OLD_SERVES] = (byte) (pingAfter + NODE_TIMEOUT + CRON);
        state[KEYS + NEW] = isKeyKept ? state[KEYS + OLD] : 0;
        visit(state);
    }

    private void start(byte[] before, int client) {
        boolean hasFailedOver = before[OLD_SERVES] != NOT_FAILED_OVER;
        if (before[OLD_SERVES] > 0) {
            byte[] state = before.clone();
            state[VIEWS + client] = SEES_OLD;
            visit(state);
        }
        if (hasFailedOver) {
            byte[] state = before.clone();
            state[VIEWS + client] = SEES_NEW;
            state[SILENCES + client] = rule.isSilentAtFirstContact ? rule.silence() : 0;
            visit(state);
        }
    }

    private void learn(byte[] before, int client) {
        byte[] state = before.clone();
        state[VIEWS + client] = SEES_NEW;
        state[SILENCES + client] = rule.silence();
        visit(state);
    }

    private void acquire(byte[] before, int client, int mask) {
        byte[] state = before.clone();
        int count = 0;
        for (int voter = 0; voter < VOTERS; voter++) {
            int server = (mask & 1 << voter) == 0 ? -1 : serverOf(before, client, voter);
            if (server >= 0 && state[KEYS + server] == 0) {
                state[KEYS + server] = keyOf(client, TTL);
                count++;
            }
        }
        if (count >= QUORUM) {
            state[LEASES + client] = TTL;
            visit(state);
        } else if (count > 0) {
            // The rollback is lost; otherwise nothing has happened.
            visit(state);
        }
    }

    /** A key that is missing is set again, and does not count. */
    private void extend(byte[] before, int client, int mask) {
        byte[] state = before.clone();
        int count = 0;
        for (int voter = 0; voter < VOTERS; voter++) {
            int server = (mask & 1 << voter) == 0 ? -1 : serverOf(before, client, voter);
            if (server < 0) {
                continue;
            }
            boolean isHeld = isKeyOf(state[KEYS + server], client);
            count += isHeld ? 1 : 0;
            if (isHeld || state[KEYS + server] == 0) {
                state[KEYS + server] = keyOf(client, TTL);
            }
        }
        state[LEASES + client] = count >= QUORUM ? TTL : state[LEASES + client];
        visit(state);
    }

    private void release(byte[] before, int client) {
        byte[] state = before.clone();
        state[LEASES + client] = 0;
        visit(state);
        byte[] deleted = state.clone();
        for (int i = 0; i < SERVERS; i++) {
            deleted[KEYS + i] = isKeyOf(deleted[KEYS + i], client) ? 0 : deleted[KEYS + i];
        }
        visit(deleted);
    }

    /** The server that gives the vote to a client now; -1 if none does. */
    private static int serverOf(byte[] state, int client, int voter) {
        if (voter != CLUSTER) {
            return voter;
        }
        if (state[VIEWS + client] == SEES_OLD) {
            return state[OLD_SERVES] > 0 ? OLD : -1;
        }
        return state[SILENCES + client] > 0 ? -1 : NEW;
    }

    private static byte keyOf(int client, int left) {
        return (byte) (1 + client * TTL + left - 1);
    }

    private static int leftOf(int key) {
        return key == 0 ? 0 : (key - 1) % TTL + 1;
    }

    private static boolean isKeyOf(int key, int client) {
        return key > 0 && (key - 1) / TTL == client;
    }
}
