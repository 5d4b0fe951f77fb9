package dev.redlock.quorum;

import dev.redlock.search.StateSearch;
import java.util.Arrays;

/**
 * Visits every state that two clients can reach with one voter: a primary that replicates to one other server, and
 * fails over to it and back. Events in any order and at any time:
 * <ul>
 * <li>A client starts, or a new one takes its place. It connects to the primary, or to a deposed one that still serves.
 * <li>A client acquires, extends or releases. A release may be lost.
 * <li>The replica copies what the primary has. So it may lack the last writes when it is promoted.
 * <li>The replica is promoted. The deposed primary serves the clients that have not noticed for a time, and then
 * becomes the replica of the new one, with its data.
 * <li>The primary restarts, without its keys or with earlier ones. Nobody serves the clients of the dead process.
 * <li>A client notices the promotion or the restart, maybe of a primary that was deposed since; or it reads the mark
 * again, or time passes.
 * <li>The clock of the primary jumps ahead, and its keys expire. If the primary has restarted, its uptime is wrong from
 * then on, so a client that starts does not wait. A client that counts a key, or relies on the wait of others, sees the
 * jump later: in the next reading of this clock, or of that of the process that follows on the same machine. Until then
 * it cannot know that its lease has ended, so a second holder is no violation. All have seen a jump before a promotion:
 * a clock of another machine would not show it.
 * </ul>
 *
 * <p>A lease outlives a promotion or a restart: it stays valid to the end of its validity, and an extension that sets
 * its key at the new process counts ("a reclaim") if the lease is valid and the client silent, and if the deposed
 * primary serves nobody any more.
 *
 * <p>A <i>reign</i> is the time of one process as the primary. The first and the third reign are of one process. The
 * <i>mark</i> is a key that names the reign in which it was written. Each server that was promoted shows that, unless
 * it forgets it: Redis does so when it has had no replica for {@code repl-backlog-ttl}.
 *
 * <p>Times are relative to the present, in whole units, so an endless run has a finite number of states.
 */
final class PromotionSearch extends StateSearch {

    /** When a primary gives no vote, and when a lease outlives the failover. */
    enum Rule {
        /** The rule of the client. */
        PRODUCT,
        /** Wrong: a promoted server votes at once. */
        NO_SILENCE,
        /** Wrong: a client that starts after the promotion does not wait. */
        NOT_AT_FIRST_CONTACT,
        /** Wrong: silent for the ttl alone, as if a deposed primary did not serve. */
        WITHOUT_SERVICE,
        /** Wrong: the mark names the process and not its reign. */
        MARK_OF_PROCESS,
        /** Wrong: a client that is silent writes the mark. */
        MARK_WRITTEN_IN_SILENCE,
        /** Wrong if servers do not show that they were promoted: the mark of another reign says nothing. */
        OTHER_MARK_IGNORED,
        /** Wrong: a client that waits takes any mark for one of this reign. */
        ANY_MARK_ADMITS,
        /** Wrong: a lease is renewed at the new primary while the deposed one may serve. */
        RECLAIM_AT_ONCE,
        /** Wrong: a lease is renewed at the new primary after the end of its validity. */
        RECLAIM_AFTER_END,
        /** Wrong: a jump of the clock is ignored in the silence, although the silence of others may be over. */
        JUMP_IGNORED_IN_SILENCE,
        /** Wrong: a jump of the clock is ignored by a lease without a key, although it makes the uptime wrong. */
        JUMP_IGNORED_WITHOUT_KEY,
        /** Wrong: the clock of a process that has restarted is not compared with that of the process before. */
        JUMP_BEFORE_RESTART_IGNORED,
        /** Wrong: one client has a shorter longest ttl than the lease of the other one. */
        SHORTER_MAX_TTL,
        /** Wrong: one client closes connections at once, and takes its own time for that of the other one. */
        SHORTER_UNANSWERED_TIMEOUT,
        /** Wrong: a client that finds the same server restarted does not wait. */
        NO_WAIT_AFTER_RESTART;

        private byte silence(int client) {
            return (byte) switch (this) {
                case SHORTER_MAX_TTL -> client == 0 ? SILENCE : 1 + SERVED_MAX;
                case NO_SILENCE -> 0;
                case WITHOUT_SERVICE -> TTL;
                default -> (byte) (TTL + served(client));
            };
        }

        /** For how long a client takes a deposed primary to serve. */
        private byte served(int client) {
            return (byte) (this == SHORTER_UNANSWERED_TIMEOUT && client == 1 ? 0 : SERVED_MAX);
        }

        private byte silenceAtFirstContact(int client) {
            return this == NOT_AT_FIRST_CONTACT ? 0 : silence(client);
        }

        private byte silenceOfRestart() {
            return (byte) (this == NO_WAIT_AFTER_RESTART ? 0 : TTL);
        }
    }

    /** What a server shows of its promotion. */
    enum Evidence {
        /** It may forget a promotion when the silence of all clients is over. */
        REMEMBERED,
        /** It never shows one, as a server with a constant id. Then the mark was copied before the first lock. */
        MARKS_ONLY,
        /** It forgets a promotion at any time: {@code repl-backlog-ttl} is too short. No rule can help. */
        FORGOTTEN_EARLY
    }

    private static final int TTL = 3;
    /** How long a deposed primary serves. */
    private static final int SERVED_MAX = 2;
    private static final int SILENCE = TTL + SERVED_MAX;
    private static final int CLIENTS = 2;
    private static final int SERVERS = 2;
    private static final int REIGNS = 3;

    // The parts of a state.
    /** For each server: free, or 1 + client * TTL + the rest of its ttl - 1. */
    private static final int KEYS = 0;
    /** For each server: none, or 1 + the reign. */
    private static final int MARKS = KEYS + SERVERS;
    private static final int REIGN = MARKS + SERVERS;
    /** How long the primary of the last reign still serves. */
    private static final int SERVED = REIGN + 1;
    /** Whether the other server is a replica. */
    private static final int ATTACHED = SERVED + 1;
    private static final int SINCE = ATTACHED + 1;
    private static final int FORGOTTEN = SINCE + 1;
    /** For each client: not started, or 1 + the reign that it sees. */
    private static final int VIEWS = FORGOTTEN + 1;
    private static final int SILENCES = VIEWS + CLIENTS;
    private static final int LEASES = SILENCES + CLIENTS;
    /** For each client: 1 if its lease ended, and it does not know that it must not renew it. */
    private static final int ENDED = LEASES + CLIENTS;
    /**
     * For each client: 1 if its lease is valid, and counts no key of the present process; 2 if it counts a key that a
     * jump has ended, which the client has not seen; 3 if it counts none, and others need not wait after such a jump.
     */
    private static final int UNCLAIMED = ENDED + CLIENTS;
    /** Whether the present reign began with a restart. */
    private static final int RESTARTED = UNCLAIMED + CLIENTS;
    private static final int LENGTH = RESTARTED + 1;
    private static final int BITS = 3;
    private static final int UNSEEN = 2;
    private static final int UNSEEN_WITHOUT_KEY = 3;

    private final Rule rule;
    private final Evidence evidence;

    PromotionSearch(Rule rule, Evidence evidence) {
        super(bits(new int[0], LENGTH, BITS), 0);
        this.rule = rule;
        this.evidence = evidence;
    }

    @Override
    protected void start() {
        byte[] start = new byte[LENGTH];
        start[ATTACHED] = 1;
        start[SINCE] = SILENCE;
        if (evidence == Evidence.MARKS_ONLY) {
            Arrays.fill(start, MARKS, MARKS + SERVERS, markOf(0));
        }
        visit(start);
    }

    @Override
    protected String violationOf(byte[] state) {
        boolean isUnseen = isUnseen(state, 0) || isUnseen(state, 1);
        return state[LEASES] > 0 && state[LEASES + 1] > 0 && !isUnseen ? "two holders" : null;
    }

    @Override
    protected void expand(byte[] state) {
        tick(state);
        expandServers(state);
        for (int client = 0; client < CLIENTS; client++) {
            int view = state[VIEWS + client];
            if (view == 0) {
                start(state, client, state[REIGN]);
                if (state[SERVED] > 0) {
                    start(state, client, state[REIGN] - 1);
                }
            } else {
                replace(state, client);
                see(state, client);
                if (view - 1 < state[REIGN]) {
                    notice(state, client, state[REIGN]);
                }
                if (view < state[REIGN] && state[SERVED] > 0) {
                    notice(state, client, state[REIGN] - 1);
                }
                if (serverOf(state, client) >= 0) {
                    expandClient(state, client, serverOf(state, client));
                }
            }
        }
    }

    // ---- servers ----------------------------------------------------------------------------------------------------

    private void tick(byte[] before) {
        byte[] state = before.clone();
        for (int i = 0; i < SERVERS; i++) {
            state[KEYS + i] = (byte) (leftOf(state[KEYS + i]) > 1 ? state[KEYS + i] - 1 : 0);
        }
        for (int i = 0; i < CLIENTS; i++) {
            if (state[LEASES + i] == 1) {
                state[ENDED + i] = 1;
            }
            decrement(state, LEASES + i);
            decrement(state, SILENCES + i);
            endUnclaimed(state, i);
        }
        decrement(state, SERVED);
        state[SINCE] = (byte) Math.min(SILENCE, state[SINCE] + 1);
        visit(state);
    }

    /** A lease that was not reclaimed ends with the silence, or has ended before. */
    private static void endUnclaimed(byte[] state, int client) {
        if (state[SILENCES + client] == 0 && isUnclaimed(state, client)) {
            state[LEASES + client] = 0;
        }
        if (state[LEASES + client] == 0) {
            state[UNCLAIMED + client] = 0;
        }
    }

    private void expandServers(byte[] before) {
        int primary = serverOfReign(before[REIGN]);
        jump(before.clone(), primary);
        // The restart guard does not cover the time that a predecessor serves.
        if (evidence != Evidence.MARKS_ONLY && before[REIGN] + 1 < REIGNS && before[SERVED] == 0) {
            restart(before.clone(), 1 - primary, true);
            restart(before.clone(), 1 - primary, false);
        }
        if (before[ATTACHED] == 1) {
            copy(before.clone(), primary);
            if (before[REIGN] + 1 < REIGNS && !isUnseen(before, 0) && !isUnseen(before, 1)) {
                byte[] promoted = before.clone();
                promoted[REIGN]++;
                promoted[SERVED] = SERVED_MAX;
                promoted[ATTACHED] = 0;
                promoted[SINCE] = 0;
                promoted[FORGOTTEN] = 0;
                promoted[RESTARTED] = 0;
                visit(promoted);
            }
        } else {
            byte[] demoted = before.clone();
            demoted[SERVED] = 0;
            demoted[ATTACHED] = 1;
            copy(demoted, primary);
        }
        if (before[SINCE] == SILENCE || evidence == Evidence.FORGOTTEN_EARLY) {
            byte[] forgotten = before.clone();
            forgotten[FORGOTTEN] = 1;
            visit(forgotten);
        }
    }

    private void jump(byte[] state, int primary) {
        state[KEYS + primary] = 0;
        for (int client = 0; client < CLIENTS; client++) {
            boolean isCounted = state[VIEWS + client] - 1 == state[REIGN] && state[UNCLAIMED + client] == 0;
            boolean isIgnored = rule == Rule.JUMP_IGNORED_IN_SILENCE && state[SILENCES + client] > 0;
            if (isCounted && !isIgnored && state[LEASES + client] > 0) {
                state[UNCLAIMED + client] = UNSEEN;
            } else if (state[RESTARTED] == 1 && !isCounted && state[LEASES + client] > 0) {
                state[UNCLAIMED + client] = UNSEEN_WITHOUT_KEY;
            }
        }
        if (state[RESTARTED] == 1) {
            state[SINCE] = SILENCE;
        }
        visit(state);
    }

    /** The client reads the clock, and sees that it has jumped. */
    private void see(byte[] before, int client) {
        boolean isIgnored = rule == Rule.JUMP_IGNORED_WITHOUT_KEY && isUnclaimed(before, client);
        if (isUnseen(before, client)) {
            byte[] state = before.clone();
            state[LEASES + client] = isIgnored ? state[LEASES + client] : 0;
            state[UNCLAIMED + client] = 0;
            visit(state);
        }
    }

    /** The new process takes the place of the other server, with what that one has or with nothing. */
    private void restart(byte[] state, int server, boolean isEmpty) {
        state[REIGN]++;
        state[ATTACHED] = 0;
        state[SINCE] = 0;
        state[FORGOTTEN] = 0;
        state[RESTARTED] = 1;
        if (isEmpty) {
            state[KEYS + server] = 0;
            state[MARKS + server] = 0;
        }
        visit(state);
    }

    private void copy(byte[] state, int primary) {
        state[KEYS + 1 - primary] = state[KEYS + primary];
        state[MARKS + 1 - primary] = state[MARKS + primary];
        visit(state);
    }

    // ---- what a client knows ----------------------------------------------------------------------------------------

    private void start(byte[] before, int client, int reign) {
        byte[] state = before.clone();
        state[VIEWS + client] = (byte) (1 + reign);
        state[SILENCES + client] = isReignKnown(state, client) ? 0 : rule.silenceAtFirstContact(client);
        if (isRestarted(state, client) && state[MARKS + serverOfReign(reign)] != markOf(reign)) {
            // It reads the uptime.
            state[SILENCES + client] = (byte) Math.max(0, rule.silenceOfRestart() - state[SINCE]);
        }
        visit(state);
    }

    /** Whether a client sees a process that has restarted. */
    private static boolean isRestarted(byte[] state, int client) {
        return state[RESTARTED] == 1 && state[VIEWS + client] - 1 == state[REIGN];
    }

    /** Whether a client that starts may take the reign for one that needs no silence. */
    private boolean isReignKnown(byte[] state, int client) {
        int reign = state[VIEWS + client] - 1;
        int mark = state[MARKS + serverOfReign(reign)];
        if (mark == markOf(reign)) {
            return true;
        }
        boolean isPromotionShown = evidence != Evidence.MARKS_ONLY && reign > 0
                && (reign < state[REIGN] || state[FORGOTTEN] == 0);
        boolean isOtherMark = mark != 0 && rule != Rule.OTHER_MARK_IGNORED;
        return !isPromotionShown && !isOtherMark;
    }

    /** The process of the client ends, and with it what it holds. */
    private void replace(byte[] before, int client) {
        byte[] state = before.clone();
        state[VIEWS + client] = 0;
        state[SILENCES + client] = 0;
        state[LEASES + client] = 0;
        state[ENDED + client] = 0;
        state[UNCLAIMED + client] = 0;
        visit(state);
    }

    /**
     * The lease of the client stays valid: no other client gets the lock before it ends. It ends with the clock of a
     * machine that shows now that it has jumped.
     */
    private void notice(byte[] before, int client, int reign) {
        byte[] state = before.clone();
        if (isUnseen(state, client) && rule != Rule.JUMP_BEFORE_RESTART_IGNORED) {
            state[LEASES + client] = 0;
        }
        state[VIEWS + client] = (byte) (1 + reign);
        state[SILENCES + client] = isRestarted(state, client) ? rule.silenceOfRestart() : rule.silence(client);
        state[UNCLAIMED + client] = (byte) (state[LEASES + client] > 0 ? 1 : 0);
        endUnclaimed(state, client);
        visit(state);
    }

    // ---- commands ---------------------------------------------------------------------------------------------------

    private void expandClient(byte[] state, int client, int server) {
        int reign = state[VIEWS + client] - 1;
        boolean isSilent = state[SILENCES + client] > 0;
        if (isSilent) {
            int mark = state[MARKS + server];
            if (mark == markOf(reign) || rule == Rule.ANY_MARK_ADMITS && mark != 0) {
                byte[] admitted = state.clone();
                admitted[SILENCES + client] = 0;
                endUnclaimed(admitted, client);
                visit(admitted);
            }
        }
        if (!isSilent || rule == Rule.MARK_WRITTEN_IN_SILENCE) {
            byte[] marked = state.clone();
            marked[MARKS + server] = markOf(reign);
            visit(marked);
        }
        if (!isSilent && state[LEASES + client] == 0 && state[KEYS + server] == 0
                && state[MARKS + server] == markOf(reign)) {
            hold(state, client, server);
        }
        renew(state, client, server, isSilent);
        release(state, client, server);
    }

    private void hold(byte[] before, int client, int server) {
        byte[] state = before.clone();
        state[KEYS + server] = (byte) (1 + client * TTL + TTL - 1);
        state[LEASES + client] = TTL;
        state[ENDED + client] = 0;
        state[UNCLAIMED + client] = 0;
        visit(state);
    }

    /** An extension. In the silence, it sets the key that the new process may lack, and counts. */
    private void renew(byte[] state, int client, int server, boolean isSilent) {
        boolean isOwn = isKeyOf(state[KEYS + server], client);
        if (!isSilent || !isUnclaimed(state, client) && state[LEASES + client] > 0) {
            if (isOwn && state[LEASES + client] > 0) {
                hold(state, client, server);
            }
            return;
        }
        boolean isValid = state[LEASES + client] > 0
                || rule == Rule.RECLAIM_AFTER_END && state[ENDED + client] == 1;
        boolean isFree = isOwn || state[KEYS + server] == 0;
        boolean isServiceOver = isRestarted(state, client)
                || state[SILENCES + client] <= rule.silence(client) - rule.served(client);
        if (isValid && isFree && (isServiceOver || rule == Rule.RECLAIM_AT_ONCE)) {
            hold(state, client, server);
        }
    }

    private void release(byte[] before, int client, int server) {
        if (before[LEASES + client] == 0) {
            return;
        }
        byte[] lost = before.clone();
        lost[LEASES + client] = 0;
        lost[UNCLAIMED + client] = 0;
        visit(lost);
        byte[] released = lost.clone();
        released[KEYS + server] = isKeyOf(released[KEYS + server], client) ? 0 : released[KEYS + server];
        visit(released);
    }

    private static boolean isUnseen(byte[] state, int client) {
        return state[UNCLAIMED + client] >= UNSEEN;
    }

    private static boolean isUnclaimed(byte[] state, int client) {
        return state[UNCLAIMED + client] == 1 || state[UNCLAIMED + client] == UNSEEN_WITHOUT_KEY;
    }

    /** The server that executes a client's commands; -1 if none does. */
    private static int serverOf(byte[] state, int client) {
        int reign = state[VIEWS + client] - 1;
        boolean isServing = reign == state[REIGN] || reign == state[REIGN] - 1 && state[SERVED] > 0;
        return isServing ? serverOfReign(reign) : -1;
    }

    private static int serverOfReign(int reign) {
        return reign % SERVERS;
    }

    private byte markOf(int reign) {
        return (byte) (1 + (rule == Rule.MARK_OF_PROCESS ? serverOfReign(reign) : reign));
    }

    private static int leftOf(int key) {
        return key == 0 ? 0 : (key - 1) % TTL + 1;
    }

    private static boolean isKeyOf(int key, int client) {
        return key > 0 && (key - 1) / TTL == client;
    }
}
