package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.RedlockSemaphore;
import dev.redlock.api.Lease;
import dev.redlock.api.LockInspection;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a client shows of a lock on servers that are silent, stopped, or have keys of other programs. */
@Timeout(60)
class InspectionOnNodesTest {
    private static final Duration TTL = Duration.ofSeconds(30);

    private RedisNodes nodes;
    private Redlock redlock;

    @BeforeEach
    void start() {
        nodes = RequiredNodes.start(Source.PATH, 3);
        redlock = Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .connectTimeout(Duration.ofSeconds(20))
                .nodeTimeout(Duration.ofSeconds(5))
                .clientName("orders-1:42")
                .nameInValues(true));
    }

    @AfterEach
    void stop() {
        redlock.close();
        nodes.close();
    }

    private Lease held(String resource) throws Exception {
        Lease lease = redlock.acquire(resource, AcquireOptions.ofTtl(TTL).autoExtend()).lease();
        Await.until("all nodes have it", () -> redlock.inspect(resource)
                .nodes()
                .stream()
                .allMatch(entry -> entry.kind() == LockInspection.Kind.EXCLUSIVE));
        return lease;
    }

    @Test
    void theHolderIsShownWhileAMinorityIsSilent() throws Exception {
        held("orders/42");
        nodes.node(1).pause();
        LockInspection inspection = redlock.inspect("orders/42");
        assertEquals(List.of(LockInspection.Kind.EXCLUSIVE, LockInspection.Kind.UNKNOWN, LockInspection.Kind.EXCLUSIVE),
                inspection.nodes().stream().map(LockInspection.Entry::kind).toList());
        assertEquals("no answer", inspection.nodes().get(1).problem());
        assertEquals("orders-1:42", inspection.nodes().get(0).clientName());
        assertEquals(inspection.nodes().get(0).id(), inspection.heldBy());
        assertEquals(ReleaseOutcome.RELEASED, redlock.breakLock("orders/42", inspection.heldBy()));
        assertNull(redlock.inspect("orders/42").heldBy());
    }

    @Test
    void aSilentMajorityLeavesTheOutcomeUnknown() throws Exception {
        held("orders/42");
        String id = redlock.inspect("orders/42").heldBy();
        nodes.node(0).pause();
        nodes.node(1).kill();
        Await.until("the stopped node has a problem",
                () -> redlock.inspect("orders/42").nodes().get(1).problem().contains("connect"));
        LockInspection inspection = redlock.inspect("orders/42");
        assertNull(inspection.heldBy());
        assertEquals(id, inspection.nodes().get(2).id());
        assertEquals(ReleaseOutcome.UNKNOWN, redlock.breakLock("orders/42", id));
        assertEquals(LockInspection.Kind.FREE, redlock.inspect("orders/42").nodes().get(2).kind());
    }

    @Test
    void keysOfOtherProgramsAreShownAndStay() throws Exception {
        nodes.node(0).call("RPUSH", "orders/42", "element");
        nodes.node(1).call("SET", "orders/42", "x".repeat(129));
        nodes.node(2).call("SET", "orders/42", "a token of the published pattern");
        LockInspection inspection = redlock.inspect("orders/42");
        assertEquals(List.of(LockInspection.Kind.FOREIGN, LockInspection.Kind.FOREIGN, LockInspection.Kind.EXCLUSIVE),
                inspection.nodes().stream().map(LockInspection.Entry::kind).toList());
        assertEquals(-1, inspection.nodes().get(2).remainingTtlMs());
        assertNull(inspection.heldBy());
        assertNull(inspection.nodes().get(0).id());
        assertNotNull(inspection.nodes().get(2).id());
        assertNull(inspection.nodes().get(2).clientName());
        assertEquals(ReleaseOutcome.RELEASED, redlock.breakLock("orders/42", inspection.nodes().get(2).id()));
        assertEquals(129L, nodes.node(1).call("STRLEN", "orders/42"));
        assertEquals(1L, nodes.node(0).call("LLEN", "orders/42"));
    }

    @Test
    void thePermitsOfASemaphoreAreShown() throws Exception {
        RedlockSemaphore exports = redlock.asSemaphore("exports", 3, AcquireOptions.ofTtl(TTL).autoExtend());
        exports.acquire();
        exports.acquire();
        Await.until("all nodes have two permits", () -> exports.inspect()
                .stream()
                .flatMap(permit -> permit.nodes().stream())
                .filter(entry -> entry.kind() == LockInspection.Kind.EXCLUSIVE)
                .count() == 6);
        List<LockInspection> permits = exports.inspect();
        assertEquals(3, permits.size());
        for (LockInspection permit : permits) {
            boolean isHeld = permit.nodes().get(0).kind() == LockInspection.Kind.EXCLUSIVE;
            assertEquals(isHeld ? "orders-1:42" : null, permit.nodes().get(2).clientName());
            assertEquals(permit.nodes().get(1).id(), permit.heldBy());
        }
        assertEquals(LockInspection.Kind.FREE, redlock.inspect("exports").nodes().get(0).kind());
        nodes.node(1).pause();
        LockInspection last = exports.inspect().get(2);
        assertEquals("no answer", last.nodes().get(1).problem());
        assertEquals(permits.get(2).heldBy(), last.heldBy());
    }

    /** The first eight digits of the SHA-256 of the value, as the program for operators shows it. */
    @Test
    void theIdIsThatOfTheProgramForOperators() throws Exception {
        for (RedisNode node : nodes.nodes()) {
            node.call("SET", "orders/42", "abc");
        }
        assertEquals("ba7816bf", redlock.inspect("orders/42").heldBy(), "SHA-256 of abc");
    }

    @Test
    void aUserWithoutTheRightsHasAProblem() throws Exception {
        nodes.node(0).call("ACL", "SETUSER", "default", "-type");
        LockInspection.Entry entry = redlock.inspect("orders/42").nodes().get(0);
        nodes.node(0).call("ACL", "SETUSER", "default", "+type");
        assertEquals(LockInspection.Kind.UNKNOWN, entry.kind());
        assertTrue(entry.problem().startsWith("EVAL failed: "), entry.problem());
        assertEquals(LockInspection.Kind.FREE, redlock.inspect("orders/42").nodes().get(0).kind());
    }
}
