package dev.redlock.sim;

import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import io.netty.channel.ManualIoEventLoop;
import io.netty.channel.local.LocalAddress;
import io.netty.channel.local.LocalIoHandler;
import io.netty.util.concurrent.MockTicker;
import io.netty.util.concurrent.Ticker;
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
    private long eventCount;

    private record Event(long dueNs, long sequence, Runnable task) implements Comparable<Event> {
        @Override
        public int compareTo(final Event other) {
            return dueNs != other.dueNs ? Long.compare(dueNs, other.dueNs) : Long.compare(sequence, other.sequence);
        }
    }

    /** A loop that says when it wants to run next. */
    private static final class Loop extends ManualIoEventLoop {
        Loop(final MockTicker ticker) {
            super(null, Thread.currentThread(), LocalIoHandler.newFactory(), ticker);
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
        private boolean isPaused;

        private Client(final String name, final RedlockContext context, final long seed) {
            this.name = name;
            this.transport = new FakeTransport(world + "/" + name, places);
            this.client = new TestClient(context, loop, transport, VirtualWorld.this::nowNs, seed);
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
        final Client client = new Client(name, context, seed);
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
        return ticker.nanoTime();
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
            next = client.isPaused ? next : Math.min(next, wakeNs(client.loop, now));
        }
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
        observer = () -> {
        };
        nodes.forEach(FakeNode::crash);
        clients.addAll(killed);
        clients.forEach(Client::resume);
        settle();
    }

    /** Runs all loops until none has anything to do. */
    public void settle() {
        int turns = 0;
        boolean isBusy = true;
        while (isBusy) {
            isBusy = nodeLoop.runNow() > 0;
            for (int i = 0; i < clients.size(); i++) {
                isBusy |= !clients.get(i).isPaused && clients.get(i).loop.runNow() > 0;
            }
            if (++turns > TURNS_MAX) {
                throw new AssertionError("time stands still: the loops never run out of work");
            }
        }
        observer.run();
    }
}
