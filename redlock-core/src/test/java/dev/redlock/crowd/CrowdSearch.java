package dev.redlock.crowd;

import dev.redlock.search.EndlessSearch;
import java.util.Arrays;
import java.util.Set;

/**
 * Visits every state that the clients of one lock can reach at its coordinator, with the queue of {@link
 * dev.redlock.crowd this page}, in ticks of some 30 ms. Events in any order and at any time:
 * <ul>
 * <li>A client comes, waits, gives up, holds, releases, and comes again. One that knows no queue takes a free lock.
 * <li>The coordinator executes the next command of a client, and the client gets the reply. A push arrives.
 * <li>A tick passes, if no message is under way to or from a client that runs, and none of its timers is due. So a
 * message takes less than a tick, and a client reacts at once, unless a fault concerns it.
 * <li>Faults, of the kinds and the number that the scope allows ({@link Fault}).
 * </ul>
 *
 * <p>In each state and at each event, the search checks:
 * <ol>
 * <li>One client holds the lock at most.
 * <li>No client that runs and is connected waits beside a free lock for more ticks than the scope allows.
 * <li>So a head that is dead or hangs is passed in this time; and once only: it must enter again before others wait for
 * it.
 * <li>A grant by the queue is that of the first client, in the order of their arrival, but for clients that a fault has
 * concerned since their last command there. A client that comes back passes the others in the tick of its grant only.
 * <li>A change of the lock wakes the head and the deputy at most, until the first fault.
 * <li>A client sends no command of the queue unless it was refused, this time or the last time, or told that others
 * wait, or woken.
 * <li>An entry whose client waits no more vanishes with its turn, or with the queue; and the queue does not expire
 * beside a client that waits.
 * </ol>
 *
 * <p>Reductions, and why they miss nothing:
 * <ul>
 * <li>A command and its reply are one event: replies and pushes of a connection have one order, and what the client
 * does next is an event of its own.
 * <li>So are the two commands of a deputy's look, which read its place and the lock. If it becomes the head between
 * them, a message follows, and ends the look.
 * <li>A client has one command under way. One that gives up meanwhile does so after the reply.
 * <li>A holder that dies or hangs is one whose key expires.
 * <li>Clients are interchangeable: a state has the order of their entries, not their names.
 * </ul>
 *
 * <p>A coordinator that refuses writes keeps its entries and the key that it has. The lock is that of the other nodes
 * then. A client asks them if the coordinator answers with an error. One that is refused registers there, and so does a
 * head a tick after it has registered at the coordinator.
 */
final class CrowdSearch extends EndlessSearch {

    /** How the clients and the coordinator behave. */
    enum Rule {
        /** The protocol. */
        PRODUCT,
        /** Wrong: a push is taken for a grant. */
        PUSH_IS_GRANT,
        /** Wrong: nobody watches over the head. */
        NO_DEPUTY,
        /** Wrong: a check neither drops dead clients nor wakes the head. */
        HEAD_NOT_CHECKED,
        /** Wrong: a head that hangs is woken again and again, and never dropped. */
        SILENT_HEAD_STAYS,
        /** Wrong: a head is dropped by the first check that finds the lock free. */
        DROPPED_AT_ONCE,
        /** Wrong: a head that was woken and refused counts as silent. */
        SUSPECT_AFTER_REFUSAL,
        /** Wrong: a woken head that is about to look does not enter, and counts as silent. */
        LOOK_IS_ANSWER,
        /** Wrong: who finds the head silent takes the lock, and ends the entries before its own. */
        CHECKER_CLAIMS,
        /** Wrong: the first one after a silent head takes the lock, and the entry of the head stays. */
        SILENT_ENTRY_STAYS,
        /** Wrong: a waiter has no timer. */
        PUSHES_ONLY,
        /** Wrong: a promotion keeps entries of clients without a connection. */
        DEAD_ENTRIES_STAY,
        /** Wrong: of two deputies, the second is told of its place, and moves up without a message. */
        DEPUTY_NOT_TOLD,
        /** Wrong: a grant promotes nobody, the release has to wake. */
        NO_PROMOTION,
        /** Wrong: the head registers and does not look at the lock. */
        WATCH_WITHOUT_READING,
        /** Wrong: a refused head does not register again. */
        NO_WATCH_AFTER_REFUSAL,
        /** Wrong: each waiter registers. */
        ALL_WATCH,
        /** Wrong: who gives up leaves its entry. */
        ENTRY_LEFT,
        /** Wrong: who gives up promotes nobody. */
        LEAVES_SILENTLY,
        /** Wrong: a deputy that gives up beside a free lock does not check the head. */
        DEPUTY_LEAVES_UNCHECKED,
        /** Wrong: a client that could not leave ignores the messages that it gets later. */
        STRAY_MESSAGE_IGNORED,
        /** Wrong: after a lost connection, a waiter does not enter again. */
        NO_REENTRY,
        /** Wrong: who enters again is the first. */
        REENTRY_FIRST,
        /** Wrong: who enters again is the last. */
        REENTRY_LAST,
        /** Wrong: an entry keeps its score when its client enters again. */
        SCORE_KEPT,
        /** Wrong: a client that comes back does not learn that others wait. */
        RETURN_PRECEDES,
        /** Wrong: each arrival uses the queue. */
        ENTER_ALWAYS,
        /** Wrong: each release asks for waiters. */
        RELEASE_ASKS,
        /** Wrong: the queue never expires. */
        QUEUE_STAYS,
        /** Wrong: the queue expires sooner than a waiter enters again. */
        QUEUE_EXPIRES_SOON,
        /** Wrong: a waiter that has nothing to do but to look does not enter again. */
        ONLY_LOOKS,
        /** Wrong: a client that passes the others ends the entry of the head. */
        PASS_DROPS_HEAD,
        /** Wrong: a client that has passed the others knows nothing of them. */
        PASS_FORGETS,
        /** Wrong: a client that comes back passes the others whenever it finds the lock free. */
        NEVER_GIVES_WAY,
        /** Wrong: a sleeper never reads the lock. */
        PLACE_ONLY,
        /** Wrong: a sleeper reads the lock if its place has changed. */
        STUCK_PLACE_UNREAD,
        /** Wrong: a sleeper without an entry goes on to ask for its place. */
        LOST_ENTRY_STAYS,
        /** Wrong: a registered deputy that becomes the head does not read the lock, and does not know the ttl. */
        NEW_HEAD_DOES_NOT_LOOK,
        /** Wrong: the answer to a look counts though a message has come meanwhile. */
        LOOK_OUTLIVES_MESSAGE,
        /** Wrong: without messages, a client does not check those that precede it. */
        PRECEDED_ENTERS,
        /** Wrong: without messages, a client checks those that precede it as soon as it finds the lock free. */
        CHECKED_AT_ONCE,
        /** Wrong: without messages, a deputy that gives up beside a free lock checks the head, which is not woken. */
        LEAVER_DROPS_UNTOLD,
        /** Wrong: a coordinator that refuses writes refuses clients behind others beside a free lock, for the order. */
        ORDER_HIDES_ERROR,
        /** Wrong: a client that cannot enter gets the place of an entry that has stayed. */
        KEPT_ENTRY_HAS_PLACE,
        /** Wrong: who cannot end its entry tells nobody. */
        KEPT_ENTRY_IS_SILENT
    }

    /** What may go wrong. */
    enum Fault {
        /** A waiter's process ends, and its connection. */
        DEATH,
        /** A waiter does nothing until it goes on, if ever; its connection stays. */
        HANG,
        /** A connection breaks, with the command and the pushes on it. The client connects again within a tick. */
        DISCONNECT,
        /** A push is lost. */
        LOST_PUSH,
        /** A client that the coordinator has granted the lock finds no quorum. */
        NO_QUORUM,
        /** The key of the holder expires, and no server notices. */
        SILENT_EXPIRY,
        /** The queue is deleted or evicted. A flush of all keys pushes that, too, and ends sooner. */
        QUEUE_LOST,
        /** The coordinator ends, or restarts without its keys: another node, which has no queue, is next. */
        FAILOVER,
        /** The clock of the coordinator is set back: new entries precede older ones. */
        CLOCK_SET_BACK,
        /** The coordinator refuses writes from then on, with the key of the lock or without it. */
        WRITES_REFUSED
    }

    /** What a search includes beyond the waiting itself, each for its own properties. */
    enum Part {
        NONE,
        /** What a client knows of others when it comes back. */
        RETURNS,
        /** The expiry of the queue. */
        EXPIRY,
        /** The coordinator sends no messages: each client that waits is registered, and checks. */
        NO_MESSAGES
    }

    /**
     * The size of a search.
     *
     * @param faultCount faults in a run
     * @param boundTicks the longest time that a lock is free beside a waiter
     */
    record Scope(int clientCount, int faultCount, Set<Fault> faults, int boundTicks, Part part) {
    }

    /** From a check that finds the lock free to the next one: longer than the woken head takes. */
    static final int RECHECK_TICKS = 2;
    /** From the promotion to deputy to the first check. */
    static final int CHECK_TICKS = 3;
    /** Between the checks of the head, and of a deputy that is registered. */
    static final int NEXT_TICKS = 4;
    /** Between the checks of further waiters. */
    static final int SLEEP_TICKS = 6;
    /** From a push to the check of a deputy, and from the end of a ttl to that of the head. */
    private static final int DELAY_TICKS = 1;
    /** A check may come earlier by as much. */
    private static final int EARLY_TICKS = 1;
    /** A client that has not entered for as long does not look, but checks. */
    private static final int REFRESH_TICKS = 4;
    private static final int QUEUE_TICKS = REFRESH_TICKS + SLEEP_TICKS;
    private static final int SHORT_QUEUE_TICKS = SLEEP_TICKS;
    /** A question follows two leases at most. */
    private static final int PRECEDED_MAX = 2;

    private static final int NOBODY = -1;

    // The head: the lock, the ticks for which it has been free beside a waiter, the faults that may still come, the
    // ticks since the expiry of the queue was set, and whether the coordinator refuses writes.
    private static final int LOCK = 0;
    private static final int FREE_TICKS = 1;
    private static final int FAULTS_LEFT = 2;
    private static final int QUEUE_AGE = 3;
    private static final int WRITES = 4;
    private static final int[] HEAD_BITS = {2, 4, 2, 4};

    private static final byte ACCEPTED = 0;
    /** The coordinator has a key of the lock for ever, or none. */
    private static final byte REFUSED_WITH_KEY = 1;
    private static final byte REFUSED_WITHOUT_KEY = 2;

    private static final byte FREE = 0;
    private static final byte HELD = 1;
    private static final byte HELD_BY_FOREIGNER = 2;

    // The part of a client: what it knows.
    private static final int PHASE = 0;
    private static final int COMMAND = 1;
    private static final int ROLE = 2;
    private static final int TIMER = 3;
    private static final int LINK = 4;
    // What the coordinator knows of it.
    private static final int IS_REGISTERED = 5;
    private static final int IS_INVALIDATED = 6;
    private static final int MESSAGE = 7;
    private static final int IS_ENTERED = 8;
    /** The order of arrival among those that wait. */
    private static final int RANK = 9;
    /** How the score of the entry differs from that order. */
    private static final int SHIFT = 10;
    /** A check has found the lock free beside this head, and woken it. */
    private static final int SUSPICION = 11;
    // What the search knows of it.
    /** A fault has concerned it since its last command there: others may precede it. */
    private static final int IS_EXCUSED = 12;
    /** It was silent, and others have passed it since. */
    private static final int IS_PASSED = 13;
    /** A wrong rule: the end of the holder's ttl does not wake it, though it is registered. */
    private static final int IS_TTL_UNKNOWN = 14;
    // Part.RETURNS: it knows of others, or has waited; its next release asks; its grants that preceded the queue.
    private static final int TOLD = 15;
    private static final int IS_QUESTION_DUE = 16;
    private static final int PRECEDED = 17;
    // Part.EXPIRY: the ticks since its last enter.
    private static final int ENTER_AGE = 18;
    // Part.NO_MESSAGES: the lock was free beside others when the last attempt was refused, and no push has come since.
    private static final int IS_CHECK_DUE = 19;
    // Fault.WRITES_REFUSED: it knows of its entry.
    private static final int KNOWS_ENTRY = 20;
    private static final int[] CLIENT_BITS = {2, 4, 2, 3, 2, 1, 1, 3, 1, 3, 2, 2, 1, 1, 1};

    private static final byte AWAY = 0;
    private static final byte WAITING = 1;
    private static final byte HOLDING = 2;
    private static final byte DEAD = 3;

    private static final byte NONE = 0;
    /** The first attempt at the queue. */
    private static final byte FIRST = 1;
    private static final byte ENTER = 2;
    /** The lock is free, and another client is the head: it is woken, or dropped. */
    private static final byte CHECK = 3;
    /** Registers, and reads the lock and, unless the client is the head, its place. */
    private static final byte WATCH = 4;
    /** Reads the lock. */
    private static final byte READ = 5;
    private static final byte LEAVE = 6;
    /** Reads the place. */
    private static final byte PLACE = 7;
    /** A first attempt that takes a free lock though others wait. */
    private static final byte PASS = 8;
    /** Registers at the other nodes, and reads their lock. */
    private static final byte WATCH_OTHERS = 9;
    /** An attempt at the other nodes. */
    private static final byte ASK_OTHERS = 10;
    private static final String[] COMMANDS = {
        "", "the first enter", "enter", "check", "watch", "read", "leave", "the question for the place", "pass",
        "the watch at the others", "the attempt at the others"
    };

    /** The first one behind the deputies. */
    private static final byte SLEEPER = 0;
    private static final byte DEPUTY = 1;
    private static final byte HEAD = 2;
    private static final byte FAR_SLEEPER = 3;

    /** It knows of others, and its grant was in this tick. */
    private static final byte IN_TURN = 1;
    private static final byte TURN_OVER = 2;

    private static final byte CONNECTED = 0;
    private static final byte HANGING = 1;
    private static final byte DISCONNECTED = 2;

    /** Messages of the queue. */
    private static final byte TO_DEPUTY = 1;
    private static final byte TO_HEAD = 2;
    /** Added if the lock is free. */
    private static final byte AT_ONCE = 2;

    /** The head was woken in this tick. Each further tick adds one. */
    private static final byte WOKEN = 1;
    /** A message takes less than a tick. */
    private static final byte SILENT = 2;
    /** Without messages: longer than a client leaves a free lock to others. */
    private static final byte SILENT_UNTOLD = WOKEN + RECHECK_TICKS + 1;

    private static final byte IN_ORDER = 0;
    private static final byte LATE = 1;
    private static final byte EARLY = 2;

    private static final String TICK = "a tick passes";
    private static final String EXECUTED = " is executed";
    private static final String PUSHED = "a push arrives";
    private static final String TIMER_FIRES = "the timer fires";
    private static final String RECONNECTS = "connects again";

    private final Rule rule;
    private final Scope scope;
    private final int clientCount;
    private final int deputyCount;
    private final int queueTicks;
    private final boolean hasMessages;
    private final byte silentFrom;

    CrowdSearch(Rule rule, Scope scope) {
        super(bits(HEAD_BITS, 1, 2 * refusedBits(scope)), scope.clientCount, clientBits(scope));
        this.rule = rule;
        this.scope = scope;
        this.clientCount = scope.clientCount;
        this.deputyCount = switch (rule) {
            case NO_DEPUTY -> 0;
            case DEPUTY_NOT_TOLD -> 2;
            default -> 1;
        };
        this.hasMessages = scope.part != Part.NO_MESSAGES;
        this.silentFrom = hasMessages ? SILENT : SILENT_UNTOLD;
        this.queueTicks = rule == Rule.QUEUE_EXPIRES_SOON ? SHORT_QUEUE_TICKS : QUEUE_TICKS;
    }

    private static int refusedBits(Scope scope) {
        return scope.faults.contains(Fault.WRITES_REFUSED) ? 1 : 0;
    }

    private static int[] clientBits(Scope scope) {
        Part part = scope.part;
        int returns = part == Part.RETURNS ? 1 : 0;
        int untold = part == Part.NO_MESSAGES ? 1 : 0;
        int[] bits = bits(CLIENT_BITS, 1, 2 * returns, returns, 2 * returns, part == Part.EXPIRY ? 3 : 0, untold,
                refusedBits(scope));
        bits[SUSPICION] += untold;
        return bits;
    }

    @Override
    protected void start() {
        byte[] state = new byte[length()];
        state[FAULTS_LEFT] = (byte) scope.faultCount;
        visit(state, "", "starts", NO_NODE);
    }

    /** The lock is free, and a client that runs waits for it. */
    @Override
    protected boolean isUnfinished(byte[] state) {
        return state[LOCK] == FREE && isAwaited(state);
    }

    @Override
    protected boolean isDue(String event) {
        return switch (event) {
            case TICK, PUSHED, TIMER_FIRES, RECONNECTS -> true;
            default -> event.endsWith(EXECUTED);
        };
    }

    @Override
    protected String violationOf(byte[] state) {
        int holderCount = state[LOCK] == HELD_BY_FOREIGNER ? 1 : 0;
        for (int c = 0; c < clientCount; c++) {
            holderCount += state[node(c) + PHASE] == HOLDING ? 1 : 0;
        }
        return holderCount > 1 ? "two holders" : null;
    }

    @Override
    protected void expand(byte[] state) {
        tick(state);
        runForeigner(state);
        for (int c = 0; c < clientCount; c++) {
            runClient(state, c);
        }
        if (state[FAULTS_LEFT] > 0) {
            for (Fault fault : scope.faults) {
                fail(state, fault);
            }
        }
    }

    private void visit(byte[] next, int client, String event) {
        visit(next, client == NOBODY ? "" : String.valueOf((char) ('A' + client)), event, NO_NODE);
    }

    // ---- time -------------------------------------------------------------------------------------------------------

    private void tick(byte[] state) {
        for (int c = 0; c < clientCount; c++) {
            if (isBusy(state, node(c))) {
                return;
            }
        }
        byte[] next = state.clone();
        for (int c = 0; c < clientCount; c++) {
            decrement(next, node(c) + TIMER);
            endTurn(next, node(c));
            byte suspicion = next[node(c) + SUSPICION];
            next[node(c) + SUSPICION] = suspicion == NONE ? NONE : (byte) Math.min(silentFrom, suspicion + 1);
        }
        if (isUnfinished(state)) {
            next[FREE_TICKS]++;
            if (next[FREE_TICKS] > scope.boundTicks) {
                violate("a client sleeps beside a free lock");
                next[FREE_TICKS] = 0;
            }
            int first = entryAt(next, 0);
            if (first != NOBODY && next[node(first) + IS_PASSED] == 1) {
                violate("others wait again for a client that was passed");
            }
        } else {
            next[FREE_TICKS] = 0;
        }
        ageQueue(next);
        visit(next, NOBODY, TICK);
    }

    /** Whether a client does something before the tick ends. */
    private boolean isBusy(byte[] state, int client) {
        boolean isTimerDue = state[client + PHASE] == WAITING && state[client + COMMAND] == NONE
                && state[client + TIMER] == 0;
        return switch (state[client + LINK]) {
            case CONNECTED -> state[client + COMMAND] != NONE || state[client + MESSAGE] != NONE
                    || state[client + IS_INVALIDATED] == 1 || isTimerDue && rule != Rule.PUSHES_ONLY;
            case DISCONNECTED -> isTimerDue;
            default -> false;
        };
    }

    /** A turn is much shorter than a tick. */
    private void endTurn(byte[] next, int client) {
        if (scope.part == Part.RETURNS && next[client + TOLD] == IN_TURN) {
            next[client + TOLD] = TURN_OVER;
        }
    }

    /** Whether the coordinator has no key of the lock. */
    private static boolean isFreeThere(byte[] state) {
        return state[WRITES] == ACCEPTED ? state[LOCK] == FREE : state[WRITES] == REFUSED_WITHOUT_KEY;
    }

    private boolean isAwaited(byte[] state) {
        for (int c = 0; c < clientCount; c++) {
            if (isAwaiting(state, node(c))) {
                return true;
            }
        }
        return false;
    }

    private static boolean isAwaiting(byte[] state, int client) {
        return state[client + PHASE] == WAITING && state[client + LINK] == CONNECTED;
    }

    private void ageQueue(byte[] next) {
        for (int c = 0; c < clientCount && scope.part == Part.EXPIRY; c++) {
            int age = next[node(c) + IS_ENTERED] == 1 ? next[node(c) + ENTER_AGE] + 1 : 0;
            next[node(c) + ENTER_AGE] = (byte) Math.min(REFRESH_TICKS, age);
        }
        if (scope.part != Part.EXPIRY || entryAt(next, 0) == NOBODY) {
            next[QUEUE_AGE] = 0;
        } else if (next[QUEUE_AGE] < queueTicks) {
            next[QUEUE_AGE]++;
        } else if (rule == Rule.QUEUE_STAYS) {
            if (!isAwaited(next)) {
                violate("an entry stays though nobody waits");
            }
        } else {
            for (int c = 0; c < clientCount; c++) {
                int client = node(c);
                if (next[client + IS_ENTERED] == 1 && isAwaiting(next, client) && next[client + IS_EXCUSED] == 0) {
                    violate("the queue expires beside a waiter");
                }
            }
            loseQueue(next);
        }
    }

    // ---- the lock ---------------------------------------------------------------------------------------------------

    private void runForeigner(byte[] state) {
        if (state[LOCK] == FREE) {
            byte[] next = state.clone();
            setLock(next, HELD_BY_FOREIGNER, NOBODY);
            visit(next, NOBODY, "a client without a queue takes the lock");
        } else if (state[LOCK] == HELD_BY_FOREIGNER) {
            byte[] next = state.clone();
            setLock(next, FREE, NOBODY);
            visit(next, NOBODY, "a client without a queue releases the lock");
        }
    }

    /** The key of the lock changes: the coordinator pushes that to other registered clients, once. */
    private void setLock(byte[] next, byte lock, int by) {
        next[LOCK] = lock;
        next[FREE_TICKS] = 0;
        int wokenCount = 0;
        for (int c = 0; c < clientCount; c++) {
            int client = node(c);
            if (next[client + IS_REGISTERED] == 1) {
                next[client + IS_REGISTERED] = 0;
                next[client + IS_INVALIDATED] |= (byte) (c == by ? 0 : 1);
                wokenCount += c == by ? 0 : 1;
            }
        }
        if (wokenCount > 1 + deputyCount && hasMessages && next[FAULTS_LEFT] == scope.faultCount) {
            violate("a change of the lock wakes " + wokenCount + " clients");
        }
    }

    private void hold(byte[] next, int c) {
        int client = node(c);
        setLock(next, HELD, c);
        stopWaiting(next, client);
        next[client + PHASE] = HOLDING;
    }

    private static void stopWaiting(byte[] next, int client) {
        next[client + COMMAND] = NONE;
        next[client + ROLE] = SLEEPER;
        next[client + TIMER] = 0;
        next[client + IS_REGISTERED] = 0;
        next[client + IS_INVALIDATED] = 0;
        next[client + IS_EXCUSED] = 0;
        next[client + IS_PASSED] = 0;
        next[client + IS_TTL_UNKNOWN] = 0;
        next[client + IS_CHECK_DUE] = 0;
    }

    // ---- the queue --------------------------------------------------------------------------------------------------

    private int scoreOf(byte[] state, int client) {
        int shift = switch (state[client + SHIFT]) {
            case EARLY -> 0;
            case LATE -> 2 * (clientCount + 1);
            default -> clientCount + 1;
        };
        return shift + state[client + RANK];
    }

    private int placeOf(byte[] state, int c) {
        int place = 0;
        for (int other = 0; other < clientCount; other++) {
            boolean isBefore = state[node(other) + IS_ENTERED] == 1
                    && scoreOf(state, node(other)) < scoreOf(state, node(c));
            place += isBefore ? 1 : 0;
        }
        return place;
    }

    private int entryAt(byte[] state, int place) {
        for (int c = 0; c < clientCount; c++) {
            if (state[node(c) + IS_ENTERED] == 1 && placeOf(state, c) == place) {
                return c;
            }
        }
        return NOBODY;
    }

    private static void removeEntry(byte[] next, int client) {
        next[client + IS_ENTERED] = 0;
        next[client + SUSPICION] = NONE;
        next[client + SHIFT] = IN_ORDER;
    }

    /** The expiry of the queue, or its deletion. */
    private void loseQueue(byte[] next) {
        for (int c = 0; c < clientCount; c++) {
            removeEntry(next, node(c));
            next[node(c) + IS_EXCUSED] = (byte) (next[node(c) + PHASE] == WAITING ? 1 : 0);
        }
        next[QUEUE_AGE] = 0;
    }

    /**
     * Part of the scripts: sends a message to the clients from a place on, up to the deputy. Those without a connection
     * are dropped.
     */
    private void promote(byte[] next, int self, int from) {
        for (int place = from; place <= deputyCount && hasMessages; place++) {
            int c = entryAt(next, place);
            while (c != NOBODY && c != self && !isConnected(next, node(c)) && rule != Rule.DEAD_ENTRIES_STAY) {
                removeEntry(next, node(c));
                c = entryAt(next, place);
            }
            if (c == NOBODY) {
                return;
            }
            boolean isTold = place == 0 || place == deputyCount;
            if (c != self && isTold && isConnected(next, node(c))) {
                send(next, node(c), place == 0 ? TO_HEAD : TO_DEPUTY);
            }
        }
    }

    private static void send(byte[] next, int client, byte word) {
        int message = word + (isFreeThere(next) ? AT_ONCE : 0);
        // A client obeys the last message, unless an earlier one starts an attempt.
        boolean isAttempt = next[client + MESSAGE] == TO_HEAD + AT_ONCE;
        next[client + MESSAGE] = isAttempt ? TO_HEAD + AT_ONCE : (byte) message;
    }

    /** Whether a message has a receiver. */
    private static boolean isConnected(byte[] state, int client) {
        return state[client + LINK] != DISCONNECTED && state[client + PHASE] != DEAD;
    }

    /** The script of an attempt. */
    private void enter(byte[] next, int c, byte mode) {
        int client = node(c);
        if (next[WRITES] != ACCEPTED) {
            enterInVain(next, c, mode);
            return;
        }
        if (mode == FIRST || mode == PASS && next[client + IS_ENTERED] == 0) {
            dropRank(next, client);
            next[client + RANK] = lastRank(next);
        }
        boolean isFree = next[LOCK] == FREE;
        int first = entryAt(next, 0);
        if (mode == CHECK && isFree && first != NOBODY && first != c && rule != Rule.HEAD_NOT_CHECKED) {
            if (isClaim(next, first, c)) {
                claim(next, first, c);
                return;
            }
            checkHead(next, first, c);
            first = entryAt(next, 0);
        }
        if (isFree && (first == NOBODY || first == c)) {
            removeEntry(next, client);
            grant(next, c, first != NOBODY);
            if (scope.part == Part.RETURNS && mode != PASS) {
                // Another client had the lock, and may come back, too.
                boolean hasWaited = mode != FIRST;
                next[client + TOLD] = hasWaited || entryAt(next, 0) != NOBODY ? IN_TURN : NONE;
                next[client + PRECEDED] = 0;
            }
        } else if (isFree && mode == PASS) {
            pass(next, c, first);
        } else {
            addEntry(next, client, mode);
            onRefused(next, c, mode, isFree);
        }
    }

    /** No entry is set, and no lock is granted. A check wakes the next two and drops nobody: there is no order. */
    private void enterInVain(byte[] next, int c, byte mode) {
        int client = node(c);
        boolean isFree = isFreeThere(next);
        int first = entryAt(next, 0);
        boolean isPreceded = first != NOBODY && first != c;
        if (mode == CHECK && isFree && isPreceded) {
            promote(next, c, 0);
        }
        if (!isPreceded || isFree && rule != Rule.ORDER_HIDES_ERROR) {
            next[client + COMMAND] = ASK_OTHERS;
            return;
        }
        next[client + KNOWS_ENTRY] = 1;
        if (rule == Rule.ORDER_HIDES_ERROR && isFree) {
            next[client + ROLE] = DEPUTY;
            next[client + TIMER] = RECHECK_TICKS;
        } else if (rule == Rule.KEPT_ENTRY_HAS_PLACE && next[client + IS_ENTERED] == 1) {
            onRefused(next, c, mode, isFree);
        } else {
            // Without a place that is known, it waits as the head does.
            next[client + ROLE] = HEAD;
            next[client + COMMAND] = WATCH;
        }
    }

    /** Those nodes decide: they grant, or refuse and register. */
    private void askOthers(byte[] next, int c) {
        int client = node(c);
        if (next[LOCK] == FREE) {
            hold(next, c);
            next[client + COMMAND] = next[client + KNOWS_ENTRY] == 1 ? LEAVE : NONE;
        } else {
            next[client + IS_REGISTERED] = 1;
            next[client + ROLE] = HEAD;
            next[client + TIMER] = NEXT_TICKS;
        }
    }

    private void watchOthers(byte[] next, int client) {
        next[client + IS_REGISTERED] = 1;
        if (next[LOCK] == FREE) {
            next[client + COMMAND] = ASK_OTHERS;
        } else {
            next[client + TIMER] = NEXT_TICKS;
        }
    }

    /** The entry stays: the next client that is connected becomes the head. */
    private void leaveInVain(byte[] next, int c) {
        next[node(c) + KNOWS_ENTRY] = 0;
        if (next[node(c) + IS_ENTERED] == 0 || rule == Rule.KEPT_ENTRY_IS_SILENT) {
            return;
        }
        for (int place = placeOf(next, c) + 1; place < clientCount; place++) {
            int other = entryAt(next, place);
            if (other != NOBODY && isConnected(next, node(other))) {
                send(next, node(other), TO_HEAD);
                return;
            }
        }
    }

    /** A client takes a free lock before the head. The entries of the others stay, and its own one, too. */
    private void pass(byte[] next, int c, int first) {
        int client = node(c);
        if (next[client + TOLD] == TURN_OVER && next[client + IS_EXCUSED] == 0) {
            violate("a client passes the others after its turn");
        }
        if (rule == Rule.PASS_DROPS_HEAD) {
            removeEntry(next, node(first));
        }
        hold(next, c);
        next[client + TOLD] = rule == Rule.PASS_FORGETS ? NONE : next[client + TOLD];
    }

    /** Wakes the head, and drops those that are dead or were woken and did nothing. */
    private void checkHead(byte[] next, int first, int c) {
        boolean isSilent = rule == Rule.DROPPED_AT_ONCE
                || next[node(first) + SUSPICION] == silentFrom && rule != Rule.SILENT_HEAD_STAYS;
        if (isSilent) {
            removeEntry(next, node(first));
            next[node(first) + IS_PASSED] = 1;
        }
        promote(next, c, 0);
        int head = entryAt(next, 0);
        for (int other = 0; other < clientCount; other++) {
            boolean isSuspect = other == head && head != c;
            byte before = next[node(other) + SUSPICION];
            next[node(other) + SUSPICION] = !isSuspect ? NONE : before == NONE ? WOKEN : before;
        }
    }

    private boolean isClaim(byte[] state, int first, int c) {
        boolean isMine = rule == Rule.CHECKER_CLAIMS && state[node(c) + IS_ENTERED] == 1
                || rule == Rule.SILENT_ENTRY_STAYS && entryAt(state, 1) == c;
        return isMine && state[node(first) + SUSPICION] == SILENT;
    }

    /** A wrong rule. */
    private void claim(byte[] next, int first, int c) {
        next[node(first) + IS_PASSED] = 1;
        while (rule == Rule.CHECKER_CLAIMS && first != c) {
            removeEntry(next, node(first));
            first = entryAt(next, 0);
        }
        removeEntry(next, node(c));
        grant(next, c, true);
    }

    private void grant(byte[] next, int c, boolean isPromoting) {
        checkOrder(next, c);
        hold(next, c);
        if (isPromoting && rule != Rule.NO_PROMOTION) {
            promote(next, c, 0);
        }
    }

    private void addEntry(byte[] next, int client, byte mode) {
        boolean isThere = next[client + IS_ENTERED] == 1;
        if (!isThere && mode != FIRST) {
            next[client + SHIFT] = switch (rule) {
                case REENTRY_FIRST -> EARLY;
                case REENTRY_LAST -> LATE;
                default -> IN_ORDER;
            };
        } else if (!isThere || rule != Rule.SCORE_KEPT) {
            next[client + SHIFT] = IN_ORDER;
        }
        next[client + IS_ENTERED] = 1;
        next[client + SUSPICION] = rule == Rule.SUSPECT_AFTER_REFUSAL ? next[client + SUSPICION] : NONE;
        next[client + IS_EXCUSED] = 0;
        next[client + IS_PASSED] = 0;
        next[client + ENTER_AGE] = 0;
        next[QUEUE_AGE] = 0;
    }

    private byte lastRank(byte[] state) {
        int last = 0;
        for (int c = 0; c < clientCount; c++) {
            last = Math.max(last, state[node(c) + RANK]);
        }
        return (byte) (last + 1);
    }

    private void checkOrder(byte[] state, int winner) {
        int rank = state[node(winner) + RANK];
        for (int c = 0; c < clientCount; c++) {
            int client = node(c);
            boolean isBefore = state[client + RANK] != 0 && state[client + RANK] < rank;
            if (isBefore && state[client + PHASE] == WAITING && state[client + IS_EXCUSED] == 0) {
                violate("a later client precedes");
            }
        }
    }

    // ---- a client ---------------------------------------------------------------------------------------------------

    private void runClient(byte[] state, int c) {
        int client = node(c);
        byte link = state[client + LINK];
        if (state[client + PHASE] == DEAD) {
            return;
        }
        if (link == DISCONNECTED) {
            connectAgain(state, c);
            return;
        }
        if (link == HANGING) {
            byte[] next = state.clone();
            next[client + LINK] = CONNECTED;
            excuseUntold(next);
            visit(next, c, "goes on");
            return;
        }
        boolean isPushed = state[client + IS_INVALIDATED] == 1 || state[client + MESSAGE] != NONE;
        if (state[client + COMMAND] != NONE && !isPushed) {
            // The reply comes after the pushes.
            execute(state.clone(), c);
        }
        if (state[client + IS_INVALIDATED] == 1) {
            receiveInvalidation(state.clone(), client);
        }
        if (state[client + MESSAGE] != NONE) {
            receiveMessage(state.clone(), client);
        }
        if (state[client + COMMAND] == NONE) {
            act(state, c);
        }
    }

    /** Without messages, a client that goes on may check by an answer from before others took and released the lock. */
    private void excuseUntold(byte[] next) {
        for (int c = 0; c < clientCount && !hasMessages; c++) {
            next[node(c) + IS_EXCUSED] |= (byte) (next[node(c) + PHASE] == WAITING ? 1 : 0);
        }
    }

    private void execute(byte[] next, int c) {
        int client = node(c);
        byte command = next[client + COMMAND];
        next[client + COMMAND] = NONE;
        switch (command) {
            case WATCH -> watch(next, c);
            case READ -> read(next, client);
            case PLACE -> readPlace(next, c);
            case LEAVE -> leave(next, c);
            case WATCH_OTHERS -> watchOthers(next, client);
            case ASK_OTHERS -> askOthers(next, c);
            default -> enter(next, c, command);
        }
        visit(next, c, COMMANDS[command] + EXECUTED);
    }

    private void leave(byte[] next, int c) {
        int client = node(c);
        if (next[WRITES] != ACCEPTED) {
            leaveInVain(next, c);
            return;
        }
        if (next[client + IS_ENTERED] == 1) {
            int place = placeOf(next, c);
            removeEntry(next, client);
            int first = entryAt(next, 0);
            boolean isWoken = hasMessages || rule == Rule.LEAVER_DROPS_UNTOLD;
            boolean isCheck = place > 0 && place <= deputyCount && next[LOCK] == FREE && first != NOBODY && isWoken;
            if (rule == Rule.LEAVES_SILENTLY) {
                return;
            }
            if (isCheck && rule != Rule.DEPUTY_LEAVES_UNCHECKED) {
                checkHead(next, first, c);
            } else {
                promote(next, c, place);
            }
        }
    }

    private void onRefused(byte[] next, int c, byte mode, boolean isFree) {
        int client = node(c);
        int place = placeOf(next, c);
        next[client + ROLE] = roleAt(place);
        if (scope.part == Part.RETURNS) {
            next[client + PRECEDED] = 0;
        }
        byte role = next[client + ROLE];
        boolean isHead = role == HEAD && (rule != Rule.NO_WATCH_AFTER_REFUSAL || mode == FIRST);
        boolean isCheckedDeputy = role == DEPUTY && mode == CHECK && !isFree;
        boolean isLeftToOthers = !hasMessages && role != HEAD && isFree && next[client + IS_REGISTERED] == 1;
        next[client + IS_CHECK_DUE] = (byte) (isLeftToOthers ? 1 : 0);
        if (isHead || isCheckedDeputy || rule == Rule.ALL_WATCH || !hasMessages && !isLeftToOthers) {
            next[client + COMMAND] = WATCH;
        } else if (isFree && (mode == CHECK || isLeftToOthers)) {
            next[client + TIMER] = RECHECK_TICKS;
        } else {
            next[client + TIMER] = ticksOfNewPlace(role);
        }
    }

    private byte roleAt(int place) {
        if (place <= deputyCount) {
            return place == 0 ? HEAD : DEPUTY;
        }
        return place == deputyCount + 1 ? SLEEPER : FAR_SLEEPER;
    }

    private static boolean isSleeper(byte role) {
        return role == SLEEPER || role == FAR_SLEEPER;
    }

    /** Whether one role is that of an earlier place than another one. */
    private static boolean isBefore(byte role, byte other) {
        return role != other && (role == HEAD || other == FAR_SLEEPER || role == DEPUTY && other == SLEEPER);
    }

    private static byte ticksOfNewPlace(byte role) {
        return (byte) (role == HEAD ? NEXT_TICKS : role == DEPUTY ? CHECK_TICKS : SLEEP_TICKS);
    }

    /** The look of a head or deputy. */
    private void watch(byte[] next, int c) {
        int client = node(c);
        boolean isEntered = next[client + IS_ENTERED] == 1;
        boolean isRegistering = rule != Rule.DEPUTY_NOT_TOLD || placeOf(next, c) < deputyCount;
        // A coordinator that refuses writes pushes nothing, and the other nodes push the changes of the lock.
        next[client + IS_REGISTERED] |= (byte) (isRegistering && next[WRITES] == ACCEPTED ? 1 : 0);
        next[client + IS_TTL_UNKNOWN] = 0;
        boolean isPlaceRead = next[client + ROLE] != HEAD && hasMessages;
        if (isPlaceRead && !isEntered) {
            next[client + COMMAND] = ENTER;
            return;
        }
        if (isPlaceRead) {
            next[client + ROLE] = roleAt(placeOf(next, c));
        }
        read(next, client);
    }

    /** A free lock leads to an attempt. */
    private void read(byte[] next, int client) {
        byte role = next[client + ROLE];
        if (isFreeThere(next) && rule != Rule.WATCH_WITHOUT_READING) {
            next[client + COMMAND] = attemptOf(next, client);
        } else if (next[WRITES] != ACCEPTED && role == HEAD) {
            next[client + TIMER] = (byte) (next[client + IS_REGISTERED] == 1 ? NEXT_TICKS : DELAY_TICKS);
        } else {
            next[client + TIMER] = (byte) (isSleeper(role) && hasMessages ? SLEEP_TICKS : NEXT_TICKS);
        }
    }

    private byte attemptOf(byte[] state, int client) {
        boolean isCheckDue = hasMessages || state[client + IS_CHECK_DUE] == 1 && rule != Rule.PRECEDED_ENTERS
                || rule == Rule.CHECKED_AT_ONCE;
        return state[client + ROLE] != HEAD && isCheckDue ? CHECK : ENTER;
    }

    /** Without messages each client waits as the head does. */
    private boolean isWaitingAsHead(byte role) {
        return role == HEAD || !hasMessages;
    }

    /** The look of a sleeper. If one of those before it has left the queue, the lock changes hands. */
    private void readPlace(byte[] next, int c) {
        int client = node(c);
        if (next[client + IS_ENTERED] == 0) {
            next[client + COMMAND] = rule == Rule.LOST_ENTRY_STAYS ? NONE : ENTER;
            next[client + TIMER] = SLEEP_TICKS;
            return;
        }
        byte role = roleAt(placeOf(next, c));
        boolean isServed = isBefore(role, next[client + ROLE]);
        boolean isReading = switch (rule) {
            case PLACE_ONLY -> false;
            case STUCK_PLACE_UNREAD -> isServed;
            default -> !isServed;
        };
        next[client + ROLE] = role;
        if (isReading) {
            next[client + COMMAND] = READ;
        } else if (role == HEAD) {
            next[client + COMMAND] = WATCH;
        } else {
            next[client + TIMER] = ticksOfNewPlace(role);
        }
    }

    private void receiveInvalidation(byte[] next, int client) {
        next[client + IS_INVALIDATED] = 0;
        // A command under way is executed later than the change.
        if (next[client + PHASE] == WAITING && next[client + COMMAND] == NONE) {
            next[client + IS_CHECK_DUE] = 0;
            if (rule == Rule.PUSH_IS_GRANT) {
                stopWaiting(next, client);
                next[client + PHASE] = HOLDING;
            } else if (next[WRITES] != ACCEPTED && next[client + ROLE] == HEAD) {
                next[client + COMMAND] = ASK_OTHERS;
            } else if (isWaitingAsHead(next[client + ROLE])) {
                next[client + COMMAND] = attemptOf(next, client);
            } else if (next[client + ROLE] == DEPUTY) {
                next[client + TIMER] = (byte) Math.min(next[client + TIMER], DELAY_TICKS);
            }
        }
        visit(next, nameOf(client), PUSHED);
    }

    private void receiveMessage(byte[] next, int client) {
        byte message = next[client + MESSAGE];
        byte command = next[client + COMMAND];
        next[client + MESSAGE] = NONE;
        if (next[client + PHASE] != WAITING) {
            boolean isAnswered = command == NONE && rule != Rule.STRAY_MESSAGE_IGNORED;
            next[client + COMMAND] = isAnswered ? LEAVE : command;
        } else {
            obey(next, client, message);
        }
        visit(next, nameOf(client), PUSHED);
    }

    /** An attempt under way goes on. A look ends: its answer may be older than the message. */
    private void obey(byte[] next, int client, byte message) {
        byte command = next[client + COMMAND];
        boolean isAttempt = message == TO_HEAD + AT_ONCE;
        boolean isHead = isAttempt || message == TO_HEAD;
        boolean isLook = command == WATCH || command == READ || command == PLACE;
        boolean isLookKept = rule == (isAttempt ? Rule.LOOK_IS_ANSWER : Rule.LOOK_OUTLIVES_MESSAGE);
        boolean isUnread = rule == Rule.NEW_HEAD_DOES_NOT_LOOK && next[client + IS_REGISTERED] == 1;
        next[client + ROLE] = isHead ? HEAD : DEPUTY;
        next[client + KNOWS_ENTRY] = (byte) (next[WRITES] == ACCEPTED ? 0 : 1);
        if (command != NONE && (!isLook || isLookKept)) {
            return;
        }
        next[client + COMMAND] = NONE;
        if (isAttempt || isHead && isRefreshing(next, client)) {
            next[client + COMMAND] = ENTER;
        } else if (isHead && isUnread) {
            next[client + TIMER] = NEXT_TICKS;
            next[client + IS_TTL_UNKNOWN] = 1;
        } else if (isHead) {
            next[client + COMMAND] = WATCH;
        } else {
            next[client + TIMER] = (byte) (message == TO_DEPUTY ? CHECK_TICKS : RECHECK_TICKS);
        }
    }

    private int nameOf(int client) {
        return (client - node(0)) / (node(1) - node(0));
    }

    /** What a client does by itself. */
    private void act(byte[] state, int c) {
        switch (state[node(c) + PHASE]) {
            case AWAY -> arrive(state.clone(), c);
            case HOLDING -> release(state.clone(), c);
            default -> {
                byte[] next = state.clone();
                int client = node(c);
                stopWaiting(next, client);
                next[client + PHASE] = AWAY;
                boolean isLeaving = rule != Rule.ENTRY_LEFT
                        && (next[WRITES] == ACCEPTED || next[client + KNOWS_ENTRY] == 1);
                next[client + COMMAND] = isLeaving ? LEAVE : NONE;
                visit(next, c, "gives up");
                if (state[client + TIMER] <= EARLY_TICKS && rule != Rule.PUSHES_ONLY) {
                    fire(state.clone(), c);
                }
            }
        }
    }

    private void fire(byte[] next, int c) {
        int client = node(c);
        byte role = next[client + ROLE];
        byte look = role == DEPUTY ? WATCH : PLACE;
        if (next[WRITES] != ACCEPTED && role == HEAD) {
            next[client + COMMAND] = next[client + IS_REGISTERED] == 1 ? ASK_OTHERS : WATCH_OTHERS;
            visit(next, c, TIMER_FIRES);
            return;
        }
        next[client + COMMAND] = isWaitingAsHead(role)
                ? attemptOf(next, client)
                : isRefreshing(next, client) ? CHECK : look;
        visit(next, c, TIMER_FIRES);
    }

    private boolean isRefreshing(byte[] state, int client) {
        return state[client + ENTER_AGE] >= REFRESH_TICKS && rule != Rule.ONLY_LOOKS;
    }

    /** A client that knows of nobody else sends a plain command, to all nodes. */
    private void arrive(byte[] next, int c) {
        int client = node(c);
        // An entry that is left from an earlier wait has another score.
        next[client + IS_EXCUSED] = hasMessages ? 0 : next[client + IS_ENTERED];
        boolean isTold = scope.part == Part.RETURNS && next[client + TOLD] != NONE;
        if (isTold && rule != Rule.RETURN_PRECEDES || rule == Rule.ENTER_ALWAYS) {
            if (!isTold) {
                violate("a command for a queue that nobody is in");
            }
            next[client + PHASE] = WAITING;
            visitPass(next, c);
            next[client + COMMAND] = FIRST;
        } else if (next[LOCK] == FREE) {
            countPreceded(next, client);
            hold(next, c);
        } else {
            next[client + PHASE] = WAITING;
            next[client + COMMAND] = FIRST;
        }
        visit(next, c, "comes");
    }

    /** It may come back before its turn ends. */
    private void visitPass(byte[] state, int c) {
        boolean isTurn = scope.part == Part.RETURNS && state[node(c) + TOLD] == IN_TURN;
        if (isTurn || rule == Rule.NEVER_GIVES_WAY) {
            byte[] next = state.clone();
            next[node(c) + COMMAND] = PASS;
            visit(next, c, "comes back");
        }
    }

    private void countPreceded(byte[] next, int client) {
        boolean isQueue = false;
        for (int c = 0; c < clientCount; c++) {
            isQueue |= next[node(c) + IS_ENTERED] == 1 && isAwaiting(next, node(c));
        }
        if (scope.part == Part.RETURNS && isQueue) {
            if (next[client + PRECEDED] == PRECEDED_MAX) {
                violate("a client precedes the queue again and again");
            }
            next[client + PRECEDED] = (byte) Math.min(PRECEDED_MAX, next[client + PRECEDED] + 1);
        }
    }

    private void release(byte[] next, int c) {
        int client = node(c);
        if (scope.part == Part.RETURNS && rule != Rule.RETURN_PRECEDES && next[client + TOLD] == NONE) {
            boolean isAsking = next[client + IS_QUESTION_DUE] == 1;
            if (rule == Rule.RELEASE_ASKS && !isAsking) {
                violate("a question about waiters with each release");
            }
            if (isAsking) {
                next[client + TOLD] = entryAt(next, 0) == NOBODY ? NONE : IN_TURN;
                next[client + PRECEDED] = next[client + TOLD] == NONE ? 0 : next[client + PRECEDED];
            }
            next[client + IS_QUESTION_DUE] = (byte) (isAsking ? 0 : 1);
        }
        setLock(next, FREE, c);
        next[client + PHASE] = AWAY;
        visit(next, c, "releases");
    }

    // ---- faults -----------------------------------------------------------------------------------------------------

    private void fail(byte[] state, Fault fault) {
        switch (fault) {
            case SILENT_EXPIRY, QUEUE_LOST, FAILOVER, CLOCK_SET_BACK, WRITES_REFUSED -> failAll(failed(state), fault);
            default -> {
                for (int c = 0; c < clientCount; c++) {
                    failOne(state, c, fault);
                }
            }
        }
    }

    private static byte[] failed(byte[] state) {
        byte[] next = state.clone();
        next[FAULTS_LEFT]--;
        return next;
    }

    private void failOne(byte[] state, int c, Fault fault) {
        int client = node(c);
        byte phase = state[client + PHASE];
        boolean isRunning = state[client + LINK] == CONNECTED;
        if (fault == Fault.LOST_PUSH) {
            losePush(state, c, IS_INVALIDATED);
            losePush(state, c, MESSAGE);
        } else if (fault == Fault.DEATH && phase == WAITING) {
            byte[] next = failed(state);
            disconnect(next, client);
            next[client + PHASE] = DEAD;
            visit(next, c, "dies");
        } else if (fault == Fault.HANG && phase == WAITING && isRunning) {
            byte[] next = failed(state);
            next[client + LINK] = HANGING;
            next[client + IS_EXCUSED] = 1;
            visit(next, c, "hangs");
        } else if (fault == Fault.DISCONNECT && isRunning && (phase == WAITING || state[client + COMMAND] == LEAVE)) {
            byte[] next = failed(state);
            disconnect(next, client);
            visit(next, c, "loses its connection");
        } else if (fault == Fault.NO_QUORUM && phase == HOLDING && state[client + COMMAND] == NONE) {
            byte[] next = failed(state);
            setLock(next, FREE, c);
            next[client + PHASE] = WAITING;
            next[client + COMMAND] = next[client + RANK] == 0 ? FIRST : ENTER;
            next[client + IS_EXCUSED] = 1;
            visit(next, c, "has no quorum, and enters again");
        }
    }

    private static void disconnect(byte[] next, int client) {
        next[client + LINK] = DISCONNECTED;
        next[client + COMMAND] = NONE;
        next[client + MESSAGE] = NONE;
        next[client + IS_REGISTERED] = 0;
        next[client + IS_INVALIDATED] = 0;
        boolean isWaiting = next[client + PHASE] == WAITING;
        next[client + TIMER] = (byte) (isWaiting ? 1 : 0);
        next[client + IS_EXCUSED] = (byte) (isWaiting ? 1 : 0);
    }

    private void losePush(byte[] state, int c, int push) {
        int client = node(c);
        if (state[client + push] != NONE && state[client + LINK] == CONNECTED) {
            byte[] next = failed(state);
            next[client + push] = NONE;
            next[client + IS_EXCUSED] = 1;
            visit(next, c, "a push is lost");
        }
    }

    private void failAll(byte[] next, Fault fault) {
        boolean isQueue = entryAt(next, 0) != NOBODY;
        if (fault == Fault.SILENT_EXPIRY && next[LOCK] != FREE) {
            expire(next);
            visit(next, NOBODY, "the key expires");
        } else if (fault == Fault.QUEUE_LOST && isQueue) {
            loseQueue(next);
            visit(next, NOBODY, "the queue is lost");
        } else if (fault == Fault.WRITES_REFUSED) {
            refuseWrites(next.clone(), REFUSED_WITH_KEY);
            refuseWrites(next.clone(), REFUSED_WITHOUT_KEY);
        } else if (fault == Fault.FAILOVER) {
            failOver(next);
        } else if (fault == Fault.CLOCK_SET_BACK && isQueue) {
            for (int c = 0; c < clientCount; c++) {
                int client = node(c);
                boolean isEntered = next[client + IS_ENTERED] == 1;
                next[client + SHIFT] = isEntered ? LATE : IN_ORDER;
                next[client + IS_EXCUSED] |= (byte) (isEntered ? 1 : 0);
            }
            visit(next, NOBODY, "the clock is set back");
        }
    }

    /** The connections of all clients end, and the queue with them. The lock is that of the quorum, and stays. */
    private void failOver(byte[] next) {
        loseQueue(next);
        for (int c = 0; c < clientCount; c++) {
            int client = node(c);
            if (next[client + LINK] == HANGING) {
                return;
            }
            if (next[client + PHASE] == WAITING) {
                disconnect(next, client);
            } else {
                next[client + COMMAND] = NONE;
                next[client + MESSAGE] = NONE;
            }
        }
        visit(next, NOBODY, "the coordinator ends");
    }

    /** Heads register at the other nodes in a tick. */
    private void refuseWrites(byte[] next, byte writes) {
        next[WRITES] = writes;
        for (int c = 0; c < clientCount; c++) {
            int client = node(c);
            next[client + KNOWS_ENTRY] = next[client + IS_ENTERED];
            next[client + IS_REGISTERED] = 0;
            if (next[client + ROLE] == HEAD) {
                next[client + TIMER] = (byte) Math.min(next[client + TIMER], DELAY_TICKS);
            }
        }
        visit(next, NOBODY, writes == REFUSED_WITH_KEY
                ? "writes are refused beside a key that stays"
                : "writes are refused, and there is no key");
    }

    /** Nobody pushes that. Those that are registered know when it is to happen, the deputy later than the head. */
    private void expire(byte[] next) {
        next[LOCK] = FREE;
        for (int c = 0; c < clientCount; c++) {
            int client = node(c);
            if (next[client + PHASE] == HOLDING) {
                next[client + PHASE] = AWAY;
            }
            boolean isTtlKnown = next[client + IS_REGISTERED] == 1 && next[client + IS_TTL_UNKNOWN] == 0;
            if (isTtlKnown && (!isSleeper(next[client + ROLE]) || !hasMessages)) {
                int ticks = !hasMessages ? 0 : next[client + ROLE] == HEAD ? DELAY_TICKS : 2 * DELAY_TICKS;
                next[client + TIMER] = (byte) Math.min(next[client + TIMER], ticks);
            }
        }
    }

    private void connectAgain(byte[] state, int c) {
        int client = node(c);
        byte[] next = state.clone();
        next[client + LINK] = CONNECTED;
        if (state[client + PHASE] == WAITING) {
            boolean isFirst = state[client + RANK] == 0;
            if (rule == Rule.NO_REENTRY && !isFirst) {
                next[client + TIMER] = (byte) (isSleeper(next[client + ROLE]) ? SLEEP_TICKS : NEXT_TICKS);
            } else {
                next[client + COMMAND] = isFirst ? FIRST : ENTER;
            }
        } else if (state[client + IS_ENTERED] == 1 && hasMessages && rule != Rule.STRAY_MESSAGE_IGNORED) {
            // It gave up meanwhile, or the command was lost.
            next[client + COMMAND] = LEAVE;
        }
        visit(next, c, RECONNECTS);
        if (state[client + PHASE] == WAITING) {
            byte[] gone = state.clone();
            stopWaiting(gone, client);
            gone[client + PHASE] = AWAY;
            visit(gone, c, "gives up");
        }
    }

    // ---- the states -------------------------------------------------------------------------------------------------

    /** Numbers that nobody reads any more. Ranks without a gap. */
    @Override
    protected void reduce(byte[] state) {
        boolean isRankKept = state[FAULTS_LEFT] > 0 && scope.faults.contains(Fault.NO_QUORUM);
        for (int c = 0; c < clientCount; c++) {
            int client = node(c);
            byte phase = state[client + PHASE];
            if (state[client + COMMAND] != NONE || phase != WAITING) {
                state[client + TIMER] = 0;
            }
            if (phase != WAITING) {
                state[client + IS_CHECK_DUE] = 0;
                state[client + ROLE] = SLEEPER;
                state[client + IS_EXCUSED] = 0;
                state[client + ENTER_AGE] = 0;
                state[client + IS_PASSED] &= state[client + IS_ENTERED];
            }
            boolean isNeeded = phase == WAITING || state[client + IS_ENTERED] == 1 || isRankKept && phase == HOLDING;
            if (!isNeeded) {
                dropRank(state, client);
            }
            if (phase == AWAY && state[client + LINK] == DISCONNECTED && state[client + IS_ENTERED] == 0) {
                state[client + LINK] = CONNECTED;
            }
            if (phase == DEAD && state[client + IS_ENTERED] == 0) {
                Arrays.fill(state, client, node(c + 1), NONE);
                state[client + PHASE] = DEAD;
            }
        }
    }

    private void dropRank(byte[] state, int client) {
        int rank = state[client + RANK];
        state[client + RANK] = 0;
        for (int c = 0; c < clientCount && rank > 0; c++) {
            state[node(c) + RANK] -= (byte) (state[node(c) + RANK] > rank ? 1 : 0);
        }
    }
}
