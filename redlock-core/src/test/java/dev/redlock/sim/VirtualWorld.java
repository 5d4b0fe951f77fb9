package dev.redlock.sim;

import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.time.NanoClock;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ManualIoEventLoop;
import io.netty.channel.local.LocalAddress;
import io.netty.channel.local.LocalIoHandler;
import io.netty.util.concurrent.MockTicker;
import io.netty.util.concurrent.ScheduledFuture;
import io.netty.util.concurrent.Ticker;
import java.lang.reflect.Field;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;

/**
 * Nodes and clients in one thread and in virtual time. Time moves from one event to the next, when no loop has work
 * left, so a run depends on the test alone.
 */
public final class VirtualWorld implements Timeline {

    private static final long MS = 1_000_000;
    private static final int TURNS_MAX = 100_000;
    /** The time limit of tasks in one turn, as the client's own thread uses it: without limit here. */
    private static final long TURN_NS_MAX = Long.MAX_VALUE;
    private static final AtomicInteger WORLDS = new AtomicInteger();

    private final String world = "world-" + WORLDS.incrementAndGet();
    private final MockTicker ticker = Ticker.newMockTicker();
    private final Loop nodeLoop = new Loop(ticker);
    private final PriorityQueue<Event> events = new PriorityQueue<>();
    private final List<FakeNode> nodes = new ArrayList<>();
    private final Map<String, LocalAddress> places = new LinkedHashMap<>();
    private final List<Client> clients = new ArrayList<>();
    private final List<Client> killed = new ArrayList<>();
    private Runnable observer = () -> {
    };
    private Runnable quietListener = () -> {
    };
    private boolean isObserving;
    private long eventCount;
    private volatile long stepCount;
    private volatile Error abortion;

    private record Event(long dueNs, long sequence, Runnable task) implements Comparable<Event> {
        @Override
        public int compareTo(Event other) {
            return dueNs != other.dueNs ? Long.compare(dueNs, other.dueNs) : Long.compare(sequence, other.sequence);
        }
    }

    /** A loop that reports when it has to run next. */
    private static final class Loop extends ManualIoEventLoop {
        private boolean isRunning;
        private boolean isRefusing;
        private final Queue<?> tasks;

        Loop(Ticker ticker) {
            super(null, Thread.currentThread(), LocalIoHandler.newFactory(), ticker);
            tasks = (Queue<?>) LoopFields.get(LoopFields.TASKS, this);
        }

        @Override
        public ScheduledFuture<?> schedule(Runnable task, long delay, TimeUnit unit) {
            if (isRefusing) {
                throw new OutOfMemoryError("thrown by a test");
            }
            return super.schedule(task, delay, unit);
        }

        @Override
        public ScheduledFuture<?> scheduleWithFixedDelay(Runnable task, long initialDelay, long delay, TimeUnit unit) {
            if (isRefusing) {
                throw new OutOfMemoryError("thrown by a test");
            }
            return super.scheduleWithFixedDelay(task, initialDelay, delay, unit);
        }

        /** @return the number of completed tasks; 0 in the middle of a turn */
        int turn() {
            if (isRunning || isIdle()) {
                return 0;
            }
            isRunning = true;
            try {
                return TURN_NS_MAX == Long.MAX_VALUE ? runNow() : runNow(TURN_NS_MAX);
            } finally {
                isRunning = false;
            }
        }

        /** With many clients most loops have nothing to do at most times, and a turn costs more than the question. */
        private boolean isIdle() {
            return tasks.isEmpty() && delayNs() != 0 && !isShuttingDown();
        }

        @SuppressWarnings("unchecked")
        void owner(Thread thread) {
            ((AtomicReference<Thread>) LoopFields.get(LoopFields.THREAD, this)).set(thread);
        }

        /** Returns the nanoseconds until the next scheduled task; -1 if there is none. */
        long delayNs() {
            return nextScheduledTaskNano();
        }
    }

    /** The fields of a loop that Netty shows nobody: its thread, which a test may change, and its tasks. */
    private static final class LoopFields {
        private static final Field THREAD = field("owningThread");
        private static final Field TASKS = field("taskQueue");

        private static Field field(String name) {
            try {
                Field field = ManualIoEventLoop.class.getDeclaredField(name);
                field.setAccessible(true);
                return field;
            } catch (NoSuchFieldException e) {
                throw new ExceptionInInitializerError(e);
            }
        }

        static Object get(Field field, ManualIoEventLoop loop) {
            try {
                return field.get(loop);
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** A client process: an engine on its own loop, which can be paused. */
    public final class Client {
        private final String name;
        private final Loop loop = new Loop(new MachineTicker());
        private final FakeTransport transport;
        private final TestClient client;
        private final FakeMemory memory = new FakeMemory();
        private final ArrayDeque<Runnable> calls = new ArrayDeque<>();
        private final ArrayDeque<Runnable> idleTasks = new ArrayDeque<>();
        private Runnable clockListener = () -> {
        };
        private boolean isPaused;
        private boolean isBusy;
        private boolean isKilled;
        private boolean isSuspended;
        private long suspendedSinceNs;
        private long stoodStillNs;
        private boolean isSleepCounted;
        private long turnCount;
        private long taskCount;

        private Client(String name, RedlockContext context, long seed,
                ByteBufAllocator allocator) {
            this.name = name;
            this.transport = new FakeTransport(world + "/" + name, places);
            this.transport.allocator(allocator == null ? memory : allocator);
            this.client = new TestClient(context, loop, transport, new MachineClock(), seed);
        }

        private long clockNs() {
            if (!isObserving) {
                clockListener.run();
            }
            return ownNs();
        }

        private long ownNs() {
            return nowNs() - stillNs();
        }

        private long stillNs() {
            return stoodStillNs + (isSuspended ? ticker.nanoTime() - suspendedSinceNs : 0);
        }

        /** The clocks that the client reads. */
        private final class MachineClock implements NanoClock {
            @Override
            public long nanoTime() {
                return clockNs();
            }

            @Override
            public long sleptNs() {
                return isSleepCounted ? nowNs() / SLEPT_UNIT_NS * SLEPT_UNIT_NS - ownNs() : UNKNOWN;
            }
        }

        /** Its system counts the time of suspends from now on. */
        public void countSleep() {
            isSleepCounted = true;
        }

        /** The clock of its machine, which its loop uses too. */
        private final class MachineTicker implements Ticker {
            @Override
            public long initialNanoTime() {
                return ticker.initialNanoTime();
            }

            @Override
            public long nanoTime() {
                return ticker.nanoTime() - stillNs();
            }

            @Override
            public void sleep(long delay, TimeUnit unit) throws InterruptedException {
                ticker.sleep(delay, unit);
            }
        }

        /** Suspends the machine: the process stops, and its clock stands still. */
        public void suspend() {
            if (!isPaused) {
                suspendedSinceNs = nowNs();
                isSuspended = true;
                pause();
            }
        }

        /** Sets a task that runs before the client reads its clock, and so in the middle of a turn. */
        public void clockListener(Runnable newListener) {
            clockListener = newListener;
        }

        /** Whether the loop of the client has no memory for a task with a delay, from now on. */
        public void refuseSchedules(boolean isRefusing) {
            loop.isRefusing = isRefusing;
        }

        public String name() {
            return name;
        }

        /** The name by which nodes identify it. */
        public boolean isNamed(String linkName) {
            return linkName.equals(world + "/" + name);
        }

        public TestClient engine() {
            return client;
        }

        public dev.redlock.Redlock redlock() {
            return client.redlock();
        }

        public FakeTransport transport() {
            return transport;
        }

        /** The source of the engine's direct memory. */
        public FakeMemory memory() {
            return memory;
        }

        /**
         * Runs application code on the client's loop: now, or as soon as the process runs and has ended its current
         * turn.
         */
        public void call(Runnable task) {
            calls.add(task);
            turn();
        }

        /** Runs a task after the process has read everything that has arrived by now. */
        public void whenIdle(Runnable task) {
            idleTasks.add(task);
        }

        /** Returns whether the client is in the middle of a turn. */
        public boolean isBusy() {
            return isBusy;
        }

        /** @return the number of turns that the client's loop has started */
        public long turnCount() {
            return turnCount;
        }

        /** @return the number of tasks in the turns that have ended: the engine has not changed if it is the same */
        public long taskCount() {
            return taskCount;
        }

        /**
         * Lets time pass in the middle of a turn of this client, while the rest of the world continues; at least until
         * the client is not paused.
         */
        public void stall(long ns) {
            runUntilNs(nowNs() + ns);
            while (isPaused) {
                runUntilNs(nowNs() + MS);
            }
        }

        private int turn() {
            if (isPaused || isBusy || isKilled) {
                return 0;
            }
            isBusy = true;
            turnCount++;
            try {
                int done = 0;
                for (Runnable call = calls.poll(); call != null; call = calls.poll()) {
                    call.run();
                    done++;
                }
                done += loop.turn();
                taskCount += done;
                return done;
            } finally {
                isBusy = false;
                if (isKilled) {
                    nodes.forEach(node -> node.breakConnections(this::isNamed));
                }
            }
        }

        private void runIdleTasks() {
            while (!isPaused && !isBusy && !idleTasks.isEmpty()) {
                idleTasks.poll().run();
            }
        }

        /** Stops the process; arriving bytes wait in its sockets. */
        public void pause() {
            isPaused = true;
        }

        public void resume() {
            stoodStillNs = stillNs();
            isSuspended = false;
            isPaused = false;
        }

        public boolean isPaused() {
            return isPaused;
        }

        public boolean isKilled() {
            return isKilled;
        }

        /** Kills the process; its pending work never runs. */
        public void kill() {
            clients.remove(this);
            killed.add(this);
            isKilled = true;
            nodes.forEach(node -> node.breakConnections(this::isNamed));
        }
    }

    /** Creates a world with nodes that listen. */
    public VirtualWorld(int nodeCount) {
        for (int i = 0; i < nodeCount; i++) {
            LocalAddress place = new LocalAddress(world + "/node-" + i);
            places.put("node-" + i + ":1", place);
            nodes.add(new FakeNode(this, nodeLoop, place, "node-" + i));
            nodes.get(i).start();
        }
        settle();
    }

    // ---- processes
    // ---------------------------------------------------------------------------------------------------

    public FakeNode node(int index) {
        return nodes.get(index);
    }

    public List<FakeNode> nodes() {
        return nodes;
    }

    public String[] addresses() {
        return places.keySet().toArray(new String[0]);
    }

    /** Moves the name of a node to another node; it is unreachable if that one does not listen. */
    public void moveName(int index, int toIndex) {
        places.put("node-" + index + ":1", nodes.get(toIndex).place());
    }

    /** Creates a client process over all nodes, which starts to connect. */
    public Client newClient(String name, RedlockContext context, long seed) {
        return newClient(name, context, seed, null);
    }

    /** As above, with an allocator; null for the memory that a test may use up. */
    public Client newClient(String name, RedlockContext context, long seed,
            ByteBufAllocator allocator) {
        Client client = newUnconnectedClient(name, context, seed, allocator);
        client.engine().open();
        return client;
    }

    /** Creates a client process that connects when a test says so. */
    public Client newUnconnectedClient(String name, RedlockContext context, long seed, ByteBufAllocator allocator) {
        Client client = new Client(name, context, seed, allocator);
        clients.add(client);
        return client;
    }

    /** Sets a task that runs after each turn, when no work is left at the present time. */
    public void observer(Runnable newObserver) {
        observer = newObserver;
    }

    /** As the observer, and before it. */
    void quietListener(Runnable newListener) {
        quietListener = newListener;
    }

    List<Client> clients() {
        return clients;
    }

    // ---- time -------------------------------------------------------------------------------------------------------

    @Override
    public long nowNs() {
        if (abortion != null) {
            throw abortion;
        }
        return ticker.nanoTime();
    }

    /** @return a count that grows as long as the world runs; readable from any thread */
    public long stepCount() {
        return stepCount;
    }

    /** Makes every further read of the clock throw this; callable from any thread. */
    public void abort(Error error) {
        abortion = error;
    }

    @Override
    public void after(long delayNs, Runnable task) {
        events.add(new Event(nowNs() + delayNs, eventCount++, task));
    }

    public void runMs(long ms) {
        runUntilNs(nowNs() + ms * MS);
    }

    /** Runs everything that is due up to a time, and sets the clock to it. */
    public void runUntilNs(long endNs) {
        settle();
        while (step(endNs)) {
            settle();
        }
    }

    /** Runs until a condition holds; fails if it does not within virtual time. */
    public void await(String what, long limitMs, BooleanSupplier condition) {
        long endNs = nowNs() + limitMs * MS;
        settle();
        while (!condition.getAsBoolean()) {
            if (!step(endNs)) {
                throw new AssertionError("not within " + limitMs + " ms of virtual time: " + what + "; nodes " + nodes);
            }
            settle();
        }
    }

    /** Moves time to the next event, up to a limit, and runs the event; returns false at the limit. */
    private boolean step(long endNs) {
        long now = nowNs();
        long next = events.isEmpty() ? Long.MAX_VALUE : events.peek().dueNs;
        next = Math.min(next, wakeNs(nodeLoop, now));
        for (Client client : clients) {
            next = client.isPaused || client.isBusy ? next : Math.min(next, wakeNs(client.loop, now));
        }
        stepCount++;
        if (next > endNs) {
            advance(endNs - now);
            return false;
        }
        advance(next - now);
        Event event = events.peek();
        if (event != null && event.dueNs <= nowNs()) {
            events.poll().task.run();
        }
        return true;
    }

    /** Makes a thread the one of all loops; null for none. Only the thread of the loops runs the world. */
    public void owner(Thread thread) {
        nodeLoop.owner(thread);
        clients.forEach(client -> client.loop.owner(thread));
    }

    /** Lets time pass in the middle of a turn, without other events. */
    public void pass(long ns) {
        advance(ns);
    }

    private static long wakeNs(Loop loop, long now) {
        long delayNs = loop.delayNs();
        return delayNs < 0 ? Long.MAX_VALUE : now + delayNs;
    }

    private void advance(long ns) {
        if (ns > 0) {
            ticker.advance(ns, TimeUnit.NANOSECONDS);
        }
    }

    /**
     * Ends every process, so that this world becomes unreachable: Netty's register of in-process channels is static,
     * and an open channel refers to its whole world.
     */
    public void end() {
        if (abortion != null) {
            return;
        }
        observer = () -> {
        };
        quietListener = observer;
        nodes.forEach(node -> node.sendListener(null));
        nodes.forEach(node -> node.redis().stepListener(new FakeRedis.StepListener() {
        }));
        nodes.forEach(FakeNode::crash);
        clients.addAll(killed);
        killed.forEach(client -> client.isKilled = false);
        clients.forEach(Client::resume);
        settle();
        // A killed process frees its memory; here the memory belongs to the test JVM.
        clients.forEach(client -> client.engine().close(Duration.ZERO));
        settle();
    }

    /** Runs all loops until none has work left, except those of clients in the middle of a turn. */
    public void settle() {
        int turns = 0;
        long atNs = nowNs();
        boolean isActive = true;
        while (isActive) {
            isActive = nodeLoop.turn() > 0;
            for (int i = 0; i < clients.size(); i++) {
                isActive |= clients.get(i).turn() > 0;
            }
            turns = atNs == nowNs() ? turns + 1 : 0;
            atNs = nowNs();
            if (turns > TURNS_MAX) {
                throw new AssertionError("virtual time does not advance: the loops always have work");
            }
        }
        for (int i = 0; i < clients.size(); i++) {
            clients.get(i).runIdleTasks();
        }
        observe();
    }

    /** Reads of the clock by the observer pass no time. */
    private void observe() {
        boolean wasObserving = isObserving;
        isObserving = true;
        try {
            quietListener.run();
            observer.run();
        } finally {
            isObserving = wasObserving;
        }
    }
}
