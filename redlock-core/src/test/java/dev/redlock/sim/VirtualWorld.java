package dev.redlock.sim;

import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ManualIoEventLoop;
import io.netty.channel.local.LocalAddress;
import io.netty.channel.local.LocalIoHandler;
import io.netty.util.concurrent.MockTicker;
import io.netty.util.concurrent.Ticker;
import java.util.ArrayDeque;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/**
 * Nodes and clients in one thread and in virtual time: time moves only when nothing is left to do, from one event to
 * the next, so a run depends on nothing but what the test does.
 */
public final class VirtualWorld implements Timeline {

    private static final long MS = 1_000_000;
    private static final int TURNS_MAX = 100_000;
    /**
     * For how long tasks may keep a client's loop from its sockets, as the engine's own thread has it: without limit.
     */
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
    private boolean isObserving;
    private long eventCount;
    private volatile long stepCount;
    private volatile Error abortion;

    private record Event(long dueNs, long sequence, Runnable task) implements Comparable<Event> {
        @Override
        public int compareTo(final Event other) {
            return dueNs != other.dueNs ? Long.compare(dueNs, other.dueNs) : Long.compare(sequence, other.sequence);
        }
    }

    /** A loop that says when it wants to run next. */
    private static final class Loop extends ManualIoEventLoop {
        private boolean isRunning;

        Loop(final MockTicker ticker) {
            super(null, Thread.currentThread(), LocalIoHandler.newFactory(), ticker);
        }

        /** @return what there was to do; nothing if it is in the middle of doing it */
        int turn() {
            if (isRunning) {
                return 0;
            }
            isRunning = true;
            try {
                return TURN_NS_MAX == Long.MAX_VALUE ? runNow() : runNow(TURN_NS_MAX);
            } finally {
                isRunning = false;
            }
        }

        /** Nanoseconds until the next scheduled task; -1 if there is none. */
        long delayNs() {
            return nextScheduledTaskNano();
        }
    }

    /** A client process: an engine on a loop of its own, which can be paused. */
    public final class Client {
        private final String name;
        private final Loop loop = new Loop(ticker);
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
        private long turnCount;

        private Client(final String name, final RedlockContext context, final long seed,
                final ByteBufAllocator allocator) {
            this.name = name;
            this.transport = new FakeTransport(world + "/" + name, places);
            this.transport.allocator(allocator == null ? memory : allocator);
            this.client = new TestClient(context, loop, transport, this::clockNs, seed);
        }

        private long clockNs() {
            if (!isObserving) {
                clockListener.run();
            }
            return nowNs();
        }

        /** Is run before the client reads its clock: what happens then happens in the middle of a turn. */
        public void clockListener(final Runnable newListener) {
            clockListener = newListener;
        }

        public String name() {
            return name;
        }

        /** The name under which nodes know it. */
        public boolean isNamed(final String linkName) {
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

        /** Where the engine has its direct memory from. */
        public FakeMemory memory() {
            return memory;
        }

        /**
         * Runs code of the application on the client's loop: now, or as soon as the process runs and is done with what
         * it is in the middle of.
         */
        public void call(final Runnable task) {
            calls.add(task);
            turn();
        }

        /** Runs something when the process has read all that has arrived by now. */
        public void whenIdle(final Runnable task) {
            idleTasks.add(task);
        }

        /** In the middle of a turn. */
        public boolean isBusy() {
            return isBusy;
        }

        /** @return how often the client's loop has begun to look at what there is to do */
        public long turnCount() {
            return turnCount;
        }

        /**
         * Lets time pass in the middle of a turn of this client, in which everybody else goes on; at least until it is
         * not paused.
         */
        public void stall(final long ns) {
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
                return done + loop.turn();
            } finally {
                isBusy = false;
                if (isKilled) {
                    nodes.forEach(node -> node.breakConnections(this::isNamed));
                }
            }
        }

        private void tellIdle() {
            while (!isPaused && !isBusy && !idleTasks.isEmpty()) {
                idleTasks.poll().run();
            }
        }

        /** The process stops running; what is sent to it waits in its sockets. */
        public void pause() {
            isPaused = true;
        }

        public void resume() {
            isPaused = false;
        }

        public boolean isPaused() {
            return isPaused;
        }

        /** The process is gone; what it was about to do never happens. */
        public void kill() {
            clients.remove(this);
            killed.add(this);
            isKilled = true;
            nodes.forEach(node -> node.breakConnections(this::isNamed));
        }
    }

    /** A world with some nodes, which listen. */
    public VirtualWorld(final int nodeCount) {
        for (int i = 0; i < nodeCount; i++) {
            final LocalAddress place = new LocalAddress(world + "/node-" + i);
            places.put("node-" + i + ":1", place);
            nodes.add(new FakeNode(this, nodeLoop, place, "node-" + i));
            nodes.get(i).start();
        }
        settle();
    }

    // ---- who is there -----------------------------------------------------------------------------------------------

    public FakeNode node(final int index) {
        return nodes.get(index);
    }

    public List<FakeNode> nodes() {
        return nodes;
    }

    public String[] addresses() {
        return places.keySet().toArray(new String[0]);
    }

    /** Lets a node's name lead somewhere else, or nowhere if the place is another node that does not listen. */
    public void moveName(final int index, final int toIndex) {
        places.put("node-" + index + ":1", nodes.get(toIndex).place());
    }

    /** A new client process over all nodes; it has begun to connect. */
    public Client newClient(final String name, final RedlockContext context, final long seed) {
        return newClient(name, context, seed, null);
    }

    /** The same with an allocator instead of the memory that a test may use up; null for that memory. */
    public Client newClient(final String name, final RedlockContext context, final long seed,
            final ByteBufAllocator allocator) {
        final Client client = new Client(name, context, seed, allocator);
        clients.add(client);
        client.engine().open();
        return client;
    }

    /** Called after each turn, when nothing is left to do at the present time. */
    public void observer(final Runnable newObserver) {
        observer = newObserver;
    }

    // ---- time -------------------------------------------------------------------------------------------------------

    @Override
    public long nowNs() {
        if (abortion != null) {
            throw abortion;
        }
        return ticker.nanoTime();
    }

    /** @return grows as long as the world goes on; any thread may ask */
    public long stepCount() {
        return stepCount;
    }

    /** Whoever reads the time from here on is thrown this; any thread may call. */
    public void abort(final Error error) {
        abortion = error;
    }

    @Override
    public void after(final long delayNs, final Runnable task) {
        events.add(new Event(nowNs() + delayNs, eventCount++, task));
    }

    public void runMs(final long ms) {
        runUntilNs(nowNs() + ms * MS);
    }

    /** Runs everything that is due up to a time; the clock stands there afterwards. */
    public void runUntilNs(final long endNs) {
        settle();
        while (step(endNs)) {
            settle();
        }
    }

    /** Runs until something holds; fails if it does not within virtual time. */
    public void await(final String what, final long limitMs, final BooleanSupplier condition) {
        final long endNs = nowNs() + limitMs * MS;
        settle();
        while (!condition.getAsBoolean()) {
            if (!step(endNs)) {
                throw new AssertionError("not within " + limitMs + " ms of virtual time: " + what + "; nodes " + nodes);
            }
            settle();
        }
    }

    /** Moves time to the next event, not beyond the end, and does what is due; false if the end is reached. */
    private boolean step(final long endNs) {
        final long now = nowNs();
        long next = events.isEmpty() ? Long.MAX_VALUE : events.peek().dueNs;
        next = Math.min(next, wakeNs(nodeLoop, now));
        for (final Client client : clients) {
            next = client.isPaused || client.isBusy ? next : Math.min(next, wakeNs(client.loop, now));
        }
        stepCount++;
        if (next > endNs) {
            advance(endNs - now);
            return false;
        }
        advance(next - now);
        final Event event = events.peek();
        if (event != null && event.dueNs <= nowNs()) {
            events.poll().task.run();
        }
        return true;
    }

    /** Lets time pass in the middle of a turn: nothing else happens meanwhile. */
    public void pass(final long ns) {
        advance(ns);
    }

    private static long wakeNs(final Loop loop, final long now) {
        final long delayNs = loop.delayNs();
        return delayNs < 0 ? Long.MAX_VALUE : now + delayNs;
    }

    private void advance(final long ns) {
        if (ns > 0) {
            ticker.advance(ns, TimeUnit.NANOSECONDS);
        }
    }

    /**
     * Ends every process, so that nothing of this world is kept: Netty's register of in-process channels is static, and
     * a channel that is never closed keeps all that it knows.
     */
    public void end() {
        if (abortion != null) {
            return;
        }
        observer = () -> {
        };
        nodes.forEach(FakeNode::crash);
        clients.addAll(killed);
        killed.forEach(client -> client.isKilled = false);
        clients.forEach(Client::resume);
        settle();
        // A killed process takes its memory with it; here that is the memory of all runs.
        clients.forEach(client -> client.engine().close(Duration.ZERO));
        settle();
    }

    /** Runs all loops until none has anything to do, but those of clients that are in the middle of a turn. */
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
                throw new AssertionError("time stands still: the loops never run out of work");
            }
        }
        for (int i = 0; i < clients.size(); i++) {
            clients.get(i).tellIdle();
        }
        observe();
    }

    /** Whoever looks at the clients from outside passes no time by it. */
    private void observe() {
        final boolean wasObserving = isObserving;
        isObserving = true;
        try {
            observer.run();
        } finally {
            isObserving = wasObserving;
        }
    }
}
