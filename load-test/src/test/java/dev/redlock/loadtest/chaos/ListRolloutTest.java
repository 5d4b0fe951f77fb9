package dev.redlock.loadtest.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The steps of the rollouts: no worker skips both lists, and no two workers have lists without a common majority. */
class ListRolloutTest {
    private static final int WORKERS = 3;
    private static final long WAIT_NS = 500_000_000;

    @Test
    void everyNodeIsReplacedAndTwoAreAdded() {
        ListRollout rollout = ListRollout.ofAll(3, WORKERS, 500);
        Set<List<Integer>> seen = new HashSet<>();
        long nowNs = 0;
        for (OptionalInt next = rollout.next(nowNs); next.isPresent(); next = rollout.next(nowNs += WAIT_NS)) {
            rollout.advance(next.getAsInt());
            rollout.ended(nowNs);
            assertAllPairsExclude(rollout);
            seen.add(rollout.nodesOf(next.getAsInt()));
        }
        assertEquals(Set.of(List.of(0, 1, 2), List.of(3, 1, 2), List.of(3, 4, 2), List.of(3, 4, 5),
                List.of(3, 4, 5, 6, 7)), seen);
        assertEquals(4, rollout.doneCount());
        assertEquals(4, rollout.changeCount());
        assertEquals(8, ListRollout.nodeCount(3));
    }

    private static void assertAllPairsExclude(ListRollout rollout) {
        for (int a = 0; a < WORKERS; a++) {
            for (int b = 0; b < WORKERS; b++) {
                Set<List<Integer>> common = listsOf(rollout, a);
                common.retainAll(listsOf(rollout, b));
                assertFalse(common.isEmpty(), rollout.describe(a) + ", " + rollout.describe(b));
            }
        }
    }

    private static Set<List<Integer>> listsOf(ListRollout rollout, int worker) {
        Set<List<Integer>> lists = new HashSet<>(List.of(rollout.nodesOf(worker)));
        if (!rollout.nextNodesOf(worker).isEmpty()) {
            lists.add(rollout.nextNodesOf(worker));
        }
        return lists;
    }

    @Test
    void theNextListAloneStartsAfterTheLocksOfTheOldListHaveExpired() {
        ListRollout rollout = ListRollout.ofAll(3, WORKERS, 500);
        List<Integer> restarted = new ArrayList<>();
        for (int i = 0; i < WORKERS; i++) {
            int worker = rollout.next(i).orElseThrow();
            rollout.advance(worker);
            rollout.ended(i);
            restarted.add(worker);
        }
        assertEquals(Set.of(0, 1, 2), new TreeSet<>(restarted));
        long lastEndNs = WORKERS - 1;
        assertTrue(rollout.next(lastEndNs + WAIT_NS - 1).isEmpty());
        assertTrue(rollout.next(lastEndNs + WAIT_NS).isPresent());
    }

    @Test
    void aListThatDoesNotChangeHasNoRollout() {
        ListRollout rollout = ListRollout.none(5, WORKERS);
        assertTrue(rollout.next(Long.MAX_VALUE).isEmpty());
        assertEquals(List.of(0, 1, 2, 3, 4), rollout.nodesOf(2));
        assertEquals(List.of(), rollout.nextNodesOf(2));
        assertEquals(0, rollout.changeCount());
    }
}
