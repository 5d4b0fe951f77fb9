package dev.redlock.semaphore;

import dev.redlock.AcquireOptions;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.VirtualTest;
import java.time.Duration;
import java.util.List;

/** The base of tests that choose which permits of a semaphore are in use, on nodes with slow links. */
abstract class PermitsTest extends VirtualTest {

    protected static final Duration WAIT = Duration.ofSeconds(60);
    /** Delay of each request and of each reply. */
    protected static final long LINK_US = 100;
    protected static final long RETRY_MS = 10;
    protected static final String OOM = "OOM command not allowed when used memory > 'maxmemory'";
    private static final int IN_FLIGHT_MAX = 1_000;
    private static final long LONG_MS = 3_600_000;

    protected static AcquireOptions permitOf(int count) {
        return options().forPermitOf(count);
    }

    protected static AcquireOptions waitingForPermitOf(int count) {
        return permitOf(count).waitUpTo(WAIT)
                .retryPolicy((attempts, reason, remainingTtlMs, random) -> RETRY_MS * 1_000_000);
    }

    protected static String permit(int number) {
        return "orders:redlock:permit:{orders}:" + number;
    }

    /** A permit is in use, by a client that does not matter. */
    protected static void setForeign(FakeNode node, int number) {
        node.redis().set(permit(number), "foreign", LONG_MS);
    }

    protected void setForeign(int number) {
        eachNode(node -> setForeign(node, number));
    }

    protected void free(int number) {
        eachNode(node -> node.redis().delete(permit(number)));
    }

    /** @return the permits that attempts have asked a node for, in order; the node must have a log */
    protected static List<Integer> askedPermits(FakeNode node) {
        return node.redis()
                .log()
                .stream()
                .filter(line -> line.startsWith("acquire ") && !line.contains(":waiting"))
                .map(line -> Integer.valueOf(line.substring(line.lastIndexOf(':') + 1, line.indexOf(" ->"))))
                .toList();
    }

    protected static int searches(FakeNode node) {
        return node.redis().commandCount("find_permit");
    }

    protected static int attempts(FakeNode node) {
        return node.redis().commandCount("acquire") + node.redis().commandCount("SET NX");
    }

    protected int searches() {
        return world.nodes().stream().mapToInt(PermitsTest::searches).sum();
    }

    protected int attempts() {
        return world.nodes().stream().mapToInt(PermitsTest::attempts).sum();
    }

    protected void searchReply(long reply) {
        eachNode(node -> node.redis().searchReply(honest -> reply));
    }

    protected void honestSearches() {
        eachNode(node -> node.redis().searchReply(honest -> honest));
    }

    protected VirtualWorld.Client slowLinks() {
        return slowLinks(IN_FLIGHT_MAX);
    }

    protected VirtualWorld.Client slowLinks(int inFlightMax) {
        world = new VirtualWorld(3);
        // Direct commands release there, which a node does not push to their own connection.
        eachNode(node -> node.redis().kind(FakeRedis.Kind.REDIS_8_4));
        VirtualWorld.Client client = client(context().inFlightMax(inFlightMax));
        eachNode(node -> node.delay(() -> LINK_US * 1_000));
        world.runMs(1_100);
        return client;
    }

    /** All permits are in use, by clients that do not matter. */
    protected VirtualWorld.Client fullWorld(int count) {
        return fullWorld(count, IN_FLIGHT_MAX);
    }

    protected VirtualWorld.Client fullWorld(int count, int inFlightMax) {
        VirtualWorld.Client client = slowLinks(inFlightMax);
        for (int i = 0; i < count; i++) {
            setForeign(i);
        }
        return client;
    }
}
