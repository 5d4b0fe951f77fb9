package dev.redlock.loadtest.chaos;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;

/**
 * The lists of nodes of the workers. In the course of a run each node is replaced by another one, one after the other,
 * and then two more are added.
 *
 * <p>A change has two rollouts, in each of which all workers start again, one by one: first with both lists, later with
 * the next list alone. In between, the locks of the last worker with the old list alone expire.
 *
 * @threading caller-confined
 */
final class ListRollout {
    private static final int ADDED = 2;

    private final List<List<Integer>> lists = new ArrayList<>();
    /** The rollouts that each worker has seen: an even number of them leaves it with one list. */
    private final int[] stages;
    private final long waitNs;
    private int stage;
    private long nextStageNs;

    private ListRollout(int nodes, int workers, long waitMs) {
        lists.add(numbers(0, nodes));
        this.stages = new int[workers];
        this.waitNs = TimeUnit.MILLISECONDS.toNanos(waitMs);
    }

    /** One list that never changes. */
    static ListRollout none(int nodes, int workers) {
        return new ListRollout(nodes, workers, 0);
    }

    /** All changes of a list that starts with so many nodes. */
    static ListRollout ofAll(int nodes, int workers, long waitMs) {
        ListRollout rollout = new ListRollout(nodes, workers, waitMs);
        for (int i = 0; i < nodes; i++) {
            List<Integer> next = new ArrayList<>(rollout.lists.get(i));
            next.set(i, nodes + i);
            rollout.lists.add(next);
        }
        rollout.lists.add(numbers(nodes, nodes * 2 + ADDED));
        return rollout;
    }

    private static List<Integer> numbers(int from, int to) {
        List<Integer> numbers = new ArrayList<>();
        for (int i = from; i < to; i++) {
            numbers.add(i);
        }
        return numbers;
    }

    /** The nodes that all changes need. */
    static int nodeCount(int nodes) {
        return nodes * 2 + ADDED;
    }

    List<Integer> nodesOf(int worker) {
        return lists.get(stages[worker] / 2);
    }

    /** The next list that a worker starts with as well; empty if it starts with one. */
    List<Integer> nextNodesOf(int worker) {
        return stages[worker] % 2 == 0 ? List.of() : lists.get(stages[worker] / 2 + 1);
    }

    /** The worker that starts again next; empty if none does at this time. */
    OptionalInt next(long nowNs) {
        if (stage < (lists.size() - 1) * 2 && Arrays.stream(stages).allMatch(own -> own == stage)
                && nowNs - nextStageNs >= 0) {
            stage++;
        }
        for (int i = 0; i < stages.length; i++) {
            if (stages[i] < stage) {
                return OptionalInt.of(i);
            }
        }
        return OptionalInt.empty();
    }

    /** The worker of the last {@link #next} starts again: {@link #nodesOf} are its next lists. */
    void advance(int worker) {
        stages[worker]++;
    }

    /** The former process of a worker has ended. After a rollout of both lists, its locks have to expire. */
    void ended(long nowNs) {
        nextStageNs = nowNs + (stage % 2 == 0 ? 0 : waitNs);
    }

    /** The changes that all workers have seen. */
    int doneCount() {
        return Arrays.stream(stages).min().orElseThrow() / 2;
    }

    int changeCount() {
        return lists.size() - 1;
    }

    String describe(int worker) {
        return String.format(Locale.ROOT, "worker %d: starts again with nodes %s%s", worker, nodesOf(worker),
                nextNodesOf(worker).isEmpty() ? "" : " and " + nextNodesOf(worker));
    }
}
