package dev.redlock.engine.callback;

import dev.redlock.api.Lease;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import dev.redlock.telemetry.Log;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiFunction;

/**
 * Runs the functions of users that may take time: of completion stages, tasks, listeners and elections. The change of
 * the state that causes one is complete before. There are three ways:
 * <ul>
 * <li>on threads of the client, those of listeners apart from all others, and those of elections without a limit;
 * <li>by an executor of the user, whose failures lead to the threads of the client;
 * <li>on the event loop, inside the call: the default on loops of the user.
 * </ul>
 *
 * <p>Each function runs once, whatever an executor does. If no thread can start, it runs on the event loop. A long
 * function that an executor has accepted does not: it waits until a thread can start.
 *
 * @threading any thread
 */
public final class CallbackExecutor {

    private static final long SECOND_NS = 1_000_000_000;
    /** Bounds the threads that start if very many losses wait. */
    private static final int EXTRA_PER_SECOND_MAX = 16;

    /** Null for threads of the client. */
    private final Executor chosen;
    private final boolean isInline;
    private final CallbackThreads threads;
    private final CallbackThreads listenerThreads;
    /** Without a limit: for the functions of elections, and for losses that all other threads leave waiting. */
    private final CallbackThreads extraThreads;
    /** The events that wait, by their owner. */
    private final ConcurrentHashMap<Object, Lane> lanes = new ConcurrentHashMap<>();
    /** The tasks that an executor service of the user has accepted and not started. */
    private final Set<Once> pending = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean isRejectionLogged = new AtomicBoolean();
    private final AtomicBoolean isStartFailureLogged = new AtomicBoolean();
    private final AtomicBoolean isLongLateLogged = new AtomicBoolean();
    private final AtomicBoolean isLongStartFailureLogged = new AtomicBoolean();
    private volatile int secondCount;
    private volatile long secondNs;

    /**
     * Creates one that has no thread yet.
     *
     * @param chosen   the executor of the user; null for none
     * @param isInline whether functions run on the event loop if there is none
     */
    public CallbackExecutor(Executor chosen, boolean isInline) {
        this(chosen, isInline, new CallbackThreads("redlock-callback"), new CallbackThreads("redlock-listener"),
                new CallbackThreads("redlock-extra", Integer.MAX_VALUE));
    }

    CallbackExecutor(Executor chosen, boolean isInline, CallbackThreads threads, CallbackThreads listenerThreads,
            CallbackThreads extraThreads) {
        this.threads = threads;
        this.listenerThreads = listenerThreads;
        this.extraThreads = extraThreads;
        this.chosen = chosen;
        this.isInline = isInline && chosen == null;
    }

    /**
     * A function that runs once.
     *
     * @threading any thread
     */
    private static class Once extends AtomicBoolean implements Runnable {

        private static final long serialVersionUID = 1L;

        private final transient Runnable function;
        private final transient Set<Once> pending;

        Once(Runnable function, Set<Once> pending) {
            this.function = function;
            this.pending = pending;
        }

        @Override
        public void run() {
            if (compareAndSet(false, true)) {
                pending.remove(this);
                runSafely(function);
            }
        }
    }

    /**
     * The events of one lease, or of another owner, that run one after the other.
     *
     * @threading any thread
     */
    private final class Lane implements Runnable {

        private final Object owner;
        private final ConcurrentLinkedQueue<Runnable> events = new ConcurrentLinkedQueue<>();
        private final Once task = new Once(this, pending);
        /** The threads of the client that run it if the executor does not. */
        private final CallbackThreads own;
        /** When its first loss or long function came, or went to the threads of the client; -1 without one. */
        private volatile int urgentSecond = -1;
        private volatile boolean isOnOwnThreads = chosen == null;
        /** Created with the lane, because there may be no memory for it after the events. */
        private final BiFunction<Object, Lane, Lane> endIfEmpty = (any, lane) -> events.isEmpty() ? null : lane;

        Lane(Object owner, CallbackThreads own) {
            this.owner = owner;
            this.own = own;
        }

        @Override
        public void run() {
            try {
                runEvents();
            } catch (Throwable e) {
                // The lane is still in the map, and nothing else would run it: a poll does, as after a loss.
                urgentSecond = secondCount;
                task.set(false);
            }
        }

        private void runEvents() {
            do {
                for (Runnable event = events.poll(); event != null; event = events.poll()) {
                    runSafely(event);
                    if (!events.isEmpty()) {
                        // The flag that this event has left is not for the next one.
                        Thread.interrupted();
                    }
                }
            } while (lanes.computeIfPresent(owner, endIfEmpty) != null);
        }
    }

    private static void runSafely(Runnable function) {
        try {
            function.run();
        } catch (Throwable e) {
            // Functions in other languages throw checked exceptions too.
            UserCallbacks.logThrown("function of a stage or listener", e);
        }
    }

    // ---- stages -----------------------------------------------------------------------------------------------------

    /** Runs a function. */
    public void execute(Runnable function) {
        if (isInline) {
            runSafely(function);
            return;
        }
        Once task;
        try {
            task = new Once(function, pending);
        } catch (OutOfMemoryError e) {
            runSafely(function);
            return;
        }
        submit(task, threads);
    }

    /** Completes a stage. */
    public <T> void complete(CompletableFuture<T> stage, T value) {
        Runnable function;
        try {
            function = () -> stage.complete(value);
        } catch (OutOfMemoryError e) {
            stage.complete(value);
            return;
        }
        execute(function);
    }

    private void submit(Once task, CallbackThreads own) {
        if (chosen == null || !isAccepted(task)) {
            runOn(own, task);
        }
    }

    private boolean isAccepted(Once task) {
        try {
            if (chosen instanceof ExecutorService) {
                pending.add(task);
            }
            chosen.execute(task);
            return true;
        } catch (Throwable e) {
            if (!isRejectionLogged.getAndSet(true)) {
                Log.error("the callback executor does not accept a function; threads of the client run it, also each"
                        + " later one that is not accepted: size the executor for all functions, and shut it down after"
                        + " the client is closed", e);
            }
            return false;
        }
    }

    private void runOn(CallbackThreads own, Once task) {
        try {
            own.execute(task);
        } catch (Throwable e) {
            if (!isStartFailureLogged.getAndSet(true)) {
                Log.error("no thread can start for the functions of stages and listeners; they run on the event loop,"
                        + " which they must not block, until a thread can start", e);
            }
            task.run();
        }
    }

    // ---- listeners --------------------------------------------------------------------------------------------------

    /** Runs a function after the earlier ones of its owner. */
    public void executeInOrder(Object owner, Runnable function) {
        executeInOrder(owner, function, false, listenerThreads);
    }

    /**
     * Runs a function after the earlier ones of its owner. It may block: others do not wait for its thread. An executor
     * whose threads are all busy delays it for some two seconds.
     */
    public void executeLong(Object owner, Runnable function) {
        executeInOrder(owner, function, true, extraThreads);
    }

    /**
     * Runs a function on another thread, always one of the client. It may block.
     *
     * @throws RuntimeException or Error if no thread can start; then the function does not run
     */
    public void executeElsewhere(Runnable function) {
        extraThreads.execute(() -> runSafely(function));
    }

    /** Runs a function that hears of a loss, after the earlier ones of its owner. */
    public void executeAfterLoss(Object owner, Runnable function) {
        executeInOrder(owner, function, true, listenerThreads);
    }

    private void executeInOrder(Object owner, Runnable event, boolean isUrgent, CallbackThreads own) {
        if (isInline) {
            runSafely(event);
            return;
        }
        Lane fresh;
        Lane lane;
        try {
            fresh = new Lane(owner, own);
            lane = lanes.compute(owner,
                    (any, present) -> withEvent(present == null ? fresh : present, event, isUrgent));
        } catch (OutOfMemoryError e) {
            runSafely(event);
            return;
        }
        if (lane == fresh) {
            submit(lane.task, own);
        }
    }

    private Lane withEvent(Lane lane, Runnable event, boolean isUrgent) {
        lane.events.add(event);
        if (isUrgent && lane.urgentSecond < 0) {
            lane.urgentSecond = secondCount;
        }
        return lane;
    }

    public void notifyLost(LeaseListener listener, Lease lease, LeaseState state) {
        if (listener == null || isInline || listener instanceof LoopListener) {
            UserCallbacks.notifyLost(listener, lease, state);
        } else {
            notifyLostInOrder(listener, lease, state);
        }
    }

    /** Notifies in the order of the lease's functions, on any thread. */
    public void notifyLostInOrder(LeaseListener listener, Lease lease, LeaseState state) {
        executeAfterLoss(lease, () -> UserCallbacks.notifyLost(listener, lease, state));
    }

    public void notifyExtended(LeaseListener listener, Lease lease, int extensionCount) {
        if (isInline) {
            UserCallbacks.notifyExtended(listener, lease, extensionCount);
        } else {
            executeInOrder(lease, () -> UserCallbacks.notifyExtended(listener, lease, extensionCount));
        }
    }

    // ---- functions that wait for too long ---------------------------------------------------------------------------

    /**
     * A loop calls it at least each second. A loss that waits for a second or two runs on another thread: one that a
     * busy executor leaves waiting, on a thread of the client, and one that all of these leave waiting, on an extra
     * thread. So do these:
     * <ul>
     * <li>a long function, because its candidate may hold a lock without leading;
     * <li>the functions that the executor has dropped at its end;
     * <li>the events of an owner whose thread has failed between two of them.
     * </ul>
     */
    public void poll(long nowNs) {
        if (isInline || secondCount != 0 && nowNs - secondNs < SECOND_NS) {
            return;
        }
        int second = secondCount + 1;
        secondNs = nowNs;
        secondCount = second;
        threads.logIfStuck();
        listenerThreads.logIfStuck();
        int extraCount = 0;
        boolean isLongLate = false;
        for (Lane lane : lanes.values()) {
            boolean isLate = lane.urgentSecond >= 0 && second - lane.urgentSecond > 1 && !lane.task.get();
            if (isLate && !lane.isOnOwnThreads) {
                if (runLate(lane.own, lane)) {
                    lane.isOnOwnThreads = true;
                    lane.urgentSecond = second;
                    isLongLate |= lane.own == extraThreads;
                }
            } else if (isLate && extraCount < EXTRA_PER_SECOND_MAX) {
                extraCount++;
                runLate(extraThreads, lane);
            }
        }
        runDropped();
        if (isLongLate && !isLongLateLogged.getAndSet(true)) {
            Log.log(System.Logger.Level.WARNING, "all threads of the callback executor are busy, so a function of an"
                    + " election waited; a thread of the client runs it, also each later one that waits for two"
                    + " seconds: size the executor with one thread for each election that leads inside its function");
        }
    }

    /**
     * Returns false if no thread can start for a long function. It may never end, so the event loop must not run it: it
     * stays where it is, and the next poll tries again.
     */
    private boolean runLate(CallbackThreads late, Lane lane) {
        if (lane.own != extraThreads) {
            runOn(late, lane.task);
            return true;
        }
        try {
            late.execute(lane.task);
            return true;
        } catch (Throwable e) {
            if (!isLongStartFailureLogged.getAndSet(true)) {
                Log.error("no thread can start for a function of an election, so it still waits; the client tries again"
                        + " each second: raise the limits of threads and memory of the process, or size the callback"
                        + " executor with one thread for each election that leads inside its function", e);
            }
            return false;
        }
    }

    private void runDropped() {
        if (!pending.isEmpty() && isTerminated()) {
            pending.forEach(task -> runOn(threads, task));
        }
    }

    private boolean isTerminated() {
        try {
            return ((ExecutorService) chosen).isTerminated();
        } catch (Throwable e) {
            return false;
        }
    }

    /** The client is closed. Functions that wait still run; idle threads end. */
    public void close() {
        if (chosen != null) {
            runDropped();
        }
        threads.close();
        listenerThreads.close();
        extraThreads.close();
    }
}
