package dev.redlock.loadtest.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.IdlePolicy;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.TransportKind;
import dev.redlock.loadtest.Await;
import dev.redlock.loadtest.rig.LoadPlan;
import dev.redlock.loadtest.rig.LoadResult;
import dev.redlock.loadtest.rig.LoadTestRig;
import dev.redlock.transport.NodeAddress;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** What every driver has to do on real nodes, and what each does when a minority of them is down. */
class DriverContractTest {
    private static final Duration TTL = Duration.ofSeconds(30);
    private static final Duration LIMIT = Duration.ofSeconds(20);

    @Nested
    class Callback extends OnThreeNodes {
        Callback() {
            super("redlock");
        }

        @Test
        void sendsTheConfiguredCommands() throws Exception {
            asksAsTold();
        }
    }

    @Nested
    class CallbackOverNio extends OnThreeNodes {
        CallbackOverNio() {
            super("redlock@nio");
        }
    }

    @Nested
    class Blocking extends OnThreeNodes {
        Blocking() {
            super("redlock-blocking");
        }
    }

    @Nested
    class Retained extends OnThreeNodes {
        Retained() {
            super("redlock-retained");
        }

        @Test
        void theNextAcquireAsksNoNode() throws Exception {
            retains();
        }
    }

    @Nested
    class Stages extends OnThreeNodes {
        Stages() {
            super("redlock-stage");
        }
    }

    @Nested
    class Scripts extends OnThreeNodes {
        Scripts() {
            super("redlock-scripts");
        }
    }

    @Nested
    class ScriptsEach extends OnThreeNodes {
        ScriptsEach() {
            super("redlock-scripts-each");
        }

        @Test
        void acquiresAndReleasesByOneScriptCallEach() throws Exception {
            usesScriptsAlone();
        }
    }

    @Nested
    class Lettuce extends OnThreeNodes {
        Lettuce() {
            super("lettuce");
        }

        @Test
        void nodeThatLostItsScriptsIsSentThemAgain() throws Exception {
            losesScripts();
        }
    }

    @Nested
    class LettuceBatched extends OnThreeNodes {
        LettuceBatched() {
            super("lettuce-batched");
        }

        @Test
        void nodeThatLostItsScriptsIsSentThemAgain() throws Exception {
            losesScripts();
        }
    }

    @Nested
    class LettuceScripts extends OnThreeNodes {
        LettuceScripts() {
            super("lettuce-scripts");
        }

        @Test
        void nodeThatLostItsScriptsIsSentThemAgain() throws Exception {
            losesScripts();
        }

        @Test
        void acquiresAndReleasesByOneScriptCallEach() throws Exception {
            usesScriptsAlone();
        }
    }

    @Nested
    class Redisson extends OnThreeNodes {
        Redisson() {
            super("redisson");
        }
    }

    @Nested
    class RedissonSingle extends OnThreeNodes {
        RedissonSingle() {
            super("redisson-single");
        }
    }

    /** No node has a replica, so none is waited for. */
    @Nested
    class RedissonWait extends OnThreeNodes {
        RedissonWait() {
            super("redisson-wait");
        }
    }

    @Nested
    class RedissonFenced extends OnThreeNodes {
        RedissonFenced() {
            super("redisson-fenced");
        }

        @Test
        void eachAcquireCountsAToken() throws Exception {
            countsTokens();
        }
    }

    @Nested
    class Jedis extends OnThreeNodes {
        Jedis() {
            super("jedis");
        }

        @Test
        void nodeThatLostItsScriptsIsSentThemAgain() throws Exception {
            losesScripts();
        }
    }

    @TestInstance(TestInstance.Lifecycle.PER_CLASS)
    abstract static class OnThreeNodes {
        private final LockDriver driver;
        private RedisNodes nodes;
        private int resourceCount;

        OnThreeNodes(String driver) {
            this.driver = Drivers.named(driver);
        }

        @BeforeAll
        void start() {
            nodes = RequiredNodes.start(new RedisNodesContext().count(3).config("requirepass pass:w0rd"));
        }

        @AfterAll
        void stop() {
            if (nodes != null) {
                nodes.close();
            }
        }

        private LockSession open() throws IOException, InterruptedException {
            return driver.open(SessionSpec.of(addresses(nodes), true));
        }

        private String freshResource() {
            return driver.name() + "-" + resourceCount++;
        }

        /**
         * Refused, and for the right reason as soon as every node takes part: a session opens when a majority is there,
         * and while the last node is still being connected to, its failed vote and one refusal are no quorum.
         */
        private void assertContended(BlockingLock lock) throws Exception {
            Await.until("contended", () -> {
                AcquireOutcome.Kind verdict = lock.acquire();
                assertTrue(verdict == AcquireOutcome.Kind.CONTENDED || verdict == AcquireOutcome.Kind.NO_QUORUM,
                        verdict::name);
                return verdict == AcquireOutcome.Kind.CONTENDED;
            });
        }

        @Test
        void excludesAndReleases() throws Exception {
            try (LockSession one = open(); LockSession two = open()) {
                String resource = freshResource();
                BlockingLock ours = new BlockingLock(one, resource, TTL, LIMIT);
                BlockingLock theirs = new BlockingLock(two, resource, TTL, LIMIT);
                BlockingLock neighbour = new BlockingLock(one, resource, TTL, LIMIT);
                assertEquals(AcquireOutcome.Kind.ACQUIRED, ours.acquire());
                assertContended(theirs);
                assertContended(neighbour);
                assertEquals(ReleaseOutcome.RELEASED, ours.release());
                assertEquals(AcquireOutcome.Kind.ACQUIRED, theirs.acquire());
                ReleaseOutcome released = theirs.release();
                assertTrue(released == ReleaseOutcome.RELEASED || released == uncontended(), released::name);
            }
        }

        @Test
        void holdsAMajorityOrOneNodeAsDeclared() throws Exception {
            String resource = freshResource();
            try (LockSession session = open()) {
                BlockingLock lock = new BlockingLock(session, resource, TTL, LIMIT);
                assertEquals(AcquireOutcome.Kind.ACQUIRED, lock.acquire());
                int expected = driver.isQuorum() ? 3 : 1;
                Await.until(expected + " nodes hold the key", () -> holders(resource) == expected);
                assertEquals(uncontended(), lock.release());
                if (!driver.isRetaining()) {
                    Await.until("no node holds the key", () -> holders(resource) == 0);
                }
            }
            Await.until("no node holds the key", () -> holders(resource) == 0);
        }

        /** The end of a lock that nobody else wants. */
        private ReleaseOutcome uncontended() {
            return driver.isRetaining() ? ReleaseOutcome.RETAINED : ReleaseOutcome.RELEASED;
        }

        private int holders(String resource) throws IOException {
            int holders = 0;
            for (RedisNode node : nodes.nodes()) {
                long leftMs = (Long) node.call("PTTL", resource);
                holders += leftMs > 0 && leftMs <= TTL.toMillis() ? 1 : 0;
            }
            return holders;
        }

        @Test
        void refusedAcquireLeavesNothingBehind() throws Exception {
            try (LockSession session = open()) {
                String resource = freshResource();
                nodes.node(0).call("SET", resource, "somebody else's");
                nodes.node(1).call("SET", resource, "somebody else's");
                BlockingLock lock = new BlockingLock(session, resource, TTL, LIMIT);
                // Redisson's locks are hashes: to its plain lock the string is an error of the node, not a holder.
                boolean isHolderSeen = !driver.name().startsWith("redisson-");
                assertEquals(isHolderSeen ? AcquireOutcome.Kind.CONTENDED : AcquireOutcome.Kind.NO_QUORUM,
                        lock.acquire());
                Await.until("rolled back by " + driver.name(),
                        () -> (Long) nodes.node(2).call("EXISTS", resource) == 0);
            }
        }

        @Test
        void rivalsOnOneResourceNeverOverlap() throws Exception {
            try (LockSession one = open(); LockSession two = open()) {
                LoadPlan plan = LoadPlan.closed(4)
                        .resources(2)
                        .hold(Duration.ofMillis(1))
                        .duration(Duration.ofMillis(400))
                        .ttl(TTL)
                        .keyPrefix(freshResource());
                LoadResult result = new LoadTestRig(plan, List.of(one, two)).run((elapsedNs, isMeasuring) -> {
                });
                assertEquals(List.of(), result.failures());
                assertTrue(result.tally().holdings() > 5, result::toString);
            }
        }

        @Test
        void reportsItsVersion() {
            boolean isFromJar = !driver.name().startsWith("redlock");
            assertTrue(driver.version().matches(isFromJar ? "[A-Z][a-z]+ [0-9]+\\.[0-9]+\\..+" : "redlock .+"),
                    driver::version);
        }

        /** Kept away from the others' nodes. */
        @Test
        void oneOfThreeNodesDown() throws Exception {
            try (RedisNodes own = RequiredNodes.start(new RedisNodesContext().count(3));
                    LockSession early = driver.open(SessionSpec.of(addresses(own), true))) {
                own.node(2).kill();
                assertCycles(early, "early");
                try (LockSession late = driver.open(SessionSpec.of(addresses(own), true))) {
                    assertCycles(late, "late");
                }
            }
        }

        private void assertCycles(LockSession session, String resource) throws Exception {
            BlockingLock lock = new BlockingLock(session, resource, TTL, LIMIT);
            assertEquals(AcquireOutcome.Kind.ACQUIRED, lock.acquire());
            // No lock is retained without all nodes.
            assertEquals(ReleaseOutcome.RELEASED, lock.release());
        }

        @Test
        void majorityDownIsAnErrorOfOpen() throws Exception {
            NodeAddress nobody = NodeAddress.parse("127.0.0.1:1");
            List<NodeAddress> addresses = List.of(nobody, NodeAddress.parse("127.0.0.1:2"), addresses(nodes).get(0));
            IOException failure = assertThrows(IOException.class, () -> driver.open(SessionSpec.of(addresses, true)));
            assertTrue(failure.getMessage().startsWith("only "), failure::getMessage);
        }

        /** What the nodes count: two script calls for each cycle, and no SET that did not come from one. */
        final void asksAsTold() throws Exception {
            int count = 8;
            cycles(CommandMode.SCRIPTS, count);
            Await.until("a script for each acquire and release", () -> calls(nodes.node(0), "evalsha") == 2 * count);
            cycles(CommandMode.NATIVE, count);
            long left = calls(nodes.node(0), "evalsha");
            assertTrue(left <= count, () -> left + " script calls: acquires have another form");
        }

        private void cycles(CommandMode commands, int count) throws Exception {
            SessionSpec spec = new SessionSpec(addresses(nodes), true, TransportKind.AUTO, 1, IdlePolicy.BLOCK,
                    commands, OptionalInt.empty(), false, null, List.of());
            try (LockSession session = driver.open(spec)) {
                cycle(new BlockingLock(session, freshResource(), TTL, LIMIT));
                nodes.node(0).call("CONFIG", "RESETSTAT");
                for (int i = 0; i < count; i++) {
                    cycle(new BlockingLock(session, freshResource(), TTL, LIMIT));
                }
            }
        }

        final void countsTokens() throws Exception {
            try (LockSession session = open()) {
                String resource = freshResource();
                BlockingLock lock = new BlockingLock(session, resource, TTL, LIMIT);
                cycle(lock);
                cycle(lock);
                assertEquals("2", nodes.node(0).call("GET", "redisson_lock_token:{" + resource + "}"));
            }
        }

        final void usesScriptsAlone() throws Exception {
            int count = 8;
            try (LockSession session = open()) {
                List<BlockingLock> locks = IntStream.range(0, count)
                        .mapToObj(i -> new BlockingLock(session, freshResource(), TTL, LIMIT))
                        .toList();
                cycle(locks.get(0));
                for (RedisNode node : nodes.nodes()) {
                    node.call("CONFIG", "RESETSTAT");
                }
                for (BlockingLock lock : locks) {
                    cycle(lock);
                }
                for (RedisNode node : nodes.nodes()) {
                    Await.until(2 * count + " script calls", () -> calls(node, "evalsha") == 2 * count);
                    assertEquals(count, calls(node, "set"));
                    assertEquals(count, calls(node, "del"));
                }
            }
        }

        /** All but the first acquire and release are local, until another client comes. */
        final void retains() throws Exception {
            try (LockSession session = open(); LockSession other = open()) {
                String resource = freshResource();
                BlockingLock lock = new BlockingLock(session, resource, TTL, LIMIT);
                for (int i = 0; i < 10; i++) {
                    assertEquals(AcquireOutcome.Kind.ACQUIRED, lock.acquire());
                    assertEquals(ReleaseOutcome.RETAINED, lock.release());
                }
                assertEquals(9, session.counters().get(RedlockDriver.LOCAL_GRANTS));
                assertEquals(1, session.counters().get("outcome.ACQUIRED"));
                assertEquals(3, holders(resource));
                BlockingLock theirs = new BlockingLock(other, new LockSpec(resource, TTL, LIMIT, false, true), LIMIT);
                assertEquals(AcquireOutcome.Kind.ACQUIRED, theirs.acquire());
                assertEquals(1, session.counters().get("retained.revoked"));
                theirs.release();
            }
        }

        private void cycle(BlockingLock lock) throws Exception {
            assertEquals(AcquireOutcome.Kind.ACQUIRED, lock.acquire());
            assertEquals(ReleaseOutcome.RELEASED, lock.release());
        }

        private long calls(RedisNode node, String command) throws IOException {
            String stats = String.valueOf(node.call("INFO", "commandstats"));
            Matcher calls = Pattern.compile("cmdstat_" + command + ":calls=(\\d+)").matcher(stats);
            return calls.find() ? Long.parseLong(calls.group(1)) : 0;
        }

        final void losesScripts() throws Exception {
            try (LockSession session = open()) {
                nodes.node(1).call("SCRIPT", "FLUSH");
                nodes.node(2).call("SCRIPT", "FLUSH");
                BlockingLock lock = new BlockingLock(session, freshResource(), TTL, LIMIT);
                assertEquals(AcquireOutcome.Kind.ACQUIRED, lock.acquire());
                assertEquals(ReleaseOutcome.RELEASED, lock.release());
            }
        }
    }

    private static List<NodeAddress> addresses(RedisNodes nodes) {
        return nodes.nodes().stream().map(RedisNode::address).toList();
    }
}
