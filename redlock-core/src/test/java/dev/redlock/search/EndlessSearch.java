package dev.redlock.search;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** A search that also looks for a run in which something that must happen at last never does. */
public abstract class EndlessSearch extends StateSearch {

    /** A search over states of one form: see {@link StateSearch}. */
    protected EndlessSearch(int[] headBits, int nodeCount, int... nodeBits) {
        super(headBits, nodeCount, nodeBits);
    }

    /** Whether a state may not last for ever, nor a sequence of such states. */
    protected abstract boolean isUnfinished(byte[] state);

    /** Whether an event happens at last if it remains possible: a message arrives, a holder ends. */
    protected abstract boolean isDue(String event);

    /**
     * Runs as {@link #run}, then looks for a sequence of unfinished states that never ends though each event that is
     * due and remains possible happens: a strongly connected component of which no such event leads out.
     *
     * @param statesMax visits the nearest states only, about so many
     */
    public final String runForever(int statesMax) {
        String wrong = run(statesMax);
        if (wrong != null) {
            return wrong;
        }
        int size = states().size();
        int[] component = components();
        int[] nearest = new int[size];
        Arrays.fill(nearest, size);
        // For each component: the events that happen in it, and those that are due in all of its states.
        Map<Integer, Set<String>> inside = new HashMap<>();
        Map<Integer, Set<String>> due = new HashMap<>();
        for (int place = 0; place < size; place++) {
            int home = component[place];
            if (home == 0) {
                continue;
            }
            nearest[home] = Math.min(nearest[home], place);
            Set<String> dueHere = new TreeSet<>();
            for (Step step : steps(loaded(place))) {
                if (isDue(step.event())) {
                    dueHere.add(step.event());
                }
                int child = positionOf(step);
                if (child >= 0 && component[child] == home) {
                    inside.computeIfAbsent(home, key -> new TreeSet<>()).add(step.event());
                }
            }
            due.merge(home, dueHere, (all, here) -> {
                all.retainAll(here);
                return all;
            });
        }
        int end = size;
        for (Map.Entry<Integer, Set<String>> entry : due.entrySet()) {
            if (inside.getOrDefault(entry.getKey(), Set.of()).containsAll(entry.getValue())) {
                end = Math.min(end, nearest[entry.getKey()]);
            }
        }
        if (end == size) {
            return null;
        }
        Set<String> events = inside.getOrDefault(component[end], Set.of());
        return "it never ends" + toText(stepsTo(end)) + "\n  from then on only: "
                + (events.isEmpty() ? "nothing" : events);
    }

    /** The strongly connected components of the unfinished states, from 1, by Tarjan's algorithm; 0 for others. */
    private int[] components() {
        int size = states().size();
        int[] component = new int[size];
        int[] number = new int[size];
        int[] low = new int[size];
        int[][] next = new int[size][];
        int[] position = new int[size];
        Deque<Integer> path = new ArrayDeque<>();
        Deque<Integer> open = new ArrayDeque<>();
        int count = 0;
        int componentCount = 0;
        for (int start = 0; start < size; start++) {
            if (number[start] != 0 || !isUnfinished(loaded(start))) {
                continue;
            }
            path.push(start);
            while (!path.isEmpty()) {
                int place = path.peek();
                if (number[place] == 0) {
                    number[place] = ++count;
                    low[place] = count;
                    open.push(place);
                    next[place] = steps(loaded(place)).stream()
                            .mapToInt(this::positionOf)
                            .filter(child -> child >= 0 && isUnfinished(loaded(child)))
                            .toArray();
                }
                if (position[place] < next[place].length) {
                    int child = next[place][position[place]++];
                    if (number[child] == 0) {
                        path.push(child);
                    } else if (component[child] == 0) {
                        low[place] = Math.min(low[place], number[child]);
                    }
                    continue;
                }
                path.pop();
                for (int child : next[place]) {
                    if (component[child] == 0) {
                        low[place] = Math.min(low[place], low[child]);
                    }
                }
                next[place] = null;
                if (low[place] == number[place]) {
                    componentCount++;
                    int member;
                    do {
                        member = open.pop();
                        component[member] = componentCount;
                    } while (member != place);
                }
            }
        }
        return component;
    }

    private int positionOf(Step step) {
        return states().positionOf(step.first(), step.second());
    }
}
