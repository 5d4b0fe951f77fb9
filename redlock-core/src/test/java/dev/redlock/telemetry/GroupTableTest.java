package dev.redlock.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CyclicBarrier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The table of groups, which several event loops and callers use at once. */
@Timeout(60)
class GroupTableTest {

    private static final int LOOPS = 4;
    private static final int NAMES = 2 * GroupTable.GROUPS_MAX;
    private static final int ROUNDS = 200;

    private final GroupTable table = new GroupTable(LOOPS, 2, () -> 0);
    private final Queue<Runnable> logged = new ConcurrentLinkedQueue<>();

    private static long sum(List<GroupRecorder> groups, int outcome) {
        return groups.stream().mapToLong(group -> group.times().count(outcome)).sum();
    }

    private void addAll(int loopIndex, CyclicBarrier start) {
        LoopGroups groups = new LoopGroups(table, loopIndex, logged::add);
        try {
            start.await();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        for (int i = 0; i < ROUNDS * NAMES; i++) {
            String name = "group-" + (i + loopIndex * NAMES / LOOPS) % NAMES;
            groups.add(name, i & 1, 1_000);
            groups.addLocalGrant(name);
        }
    }

    @Test
    void threadsThatAddAtOnceLoseNothingAndStayWithinTheLimit() throws InterruptedException {
        CyclicBarrier start = new CyclicBarrier(LOOPS);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < LOOPS; i++) {
            int loopIndex = i;
            threads.add(new Thread(() -> addAll(loopIndex, start)));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        List<GroupRecorder> groups = table.all();
        assertEquals(GroupTable.GROUPS_MAX + 1, groups.size());
        long count = (long) LOOPS * ROUNDS * NAMES;
        assertEquals(count / 2, sum(groups, 0));
        assertEquals(count / 2, sum(groups, 1));
        assertEquals(count, groups.stream().mapToLong(GroupRecorder::localGrantCount).sum());
        assertEquals(1, logged.size(), "one line in the log");
        for (GroupRecorder group : groups) {
            assertTrue(group.name().equals(GroupTable.OTHER) || group.localGrantCount() <= LOOPS * ROUNDS,
                    group::name);
        }
    }

    @Test
    void aNameHasOneGroup() {
        GroupRecorder first = table.of("orders", Runnable::run);
        assertSame(first, table.of("orders", Runnable::run));
        assertSame(first, table.of(String.join("", "ord", "ers"), Runnable::run));
        assertEquals(List.of(first), table.all());
    }

    @Test
    void groupsAreSortedByName() {
        List<String> names = IntStream.range(0, 20).mapToObj(i -> "group-" + i * 7 % 20).toList();
        names.forEach(name -> table.of(name, Runnable::run));
        assertEquals(names.stream().sorted().toList(), table.all().stream().map(GroupRecorder::name).toList());
    }

    /** The percentiles of a group that starts late have its first acquisition. */
    @Test
    void theFirstAcquisitionIsInThePercentiles() {
        LoopGroups groups = new LoopGroups(table, 1, Runnable::run);
        groups.add("orders", 1, 2_000_000);
        AcquireTimesReader times = table.of("orders", Runnable::run).times();
        assertTrue(times.percentileNs(1, 1) >= 2_000_000);
        assertTrue(Double.isNaN(times.percentileNs(0, 1)));
        assertEquals(2_000_000, times.sumNs(1));
        assertEquals(0, times.sumNs(0));
    }
}
