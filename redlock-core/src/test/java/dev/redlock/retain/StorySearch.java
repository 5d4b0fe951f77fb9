package dev.redlock.retain;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;

/**
 * Visits every state that a model of some clients and three nodes can reach, the nearest first, and tells the shortest
 * story that ends in a violation. A state is an array of small numbers: a head, then a part of equal form for each
 * node. Nodes are interchangeable, so states that differ only in their order are one state. A model may name two
 * clients that are interchangeable too.
 */
abstract class StorySearch {

    static final int NODES = 3;
    static final int QUORUM = 2;
    static final int NO_NODE = -1;
    private static final int CHUNK_BITS = 16;
    private static final int CHUNK = 1 << CHUNK_BITS;
    private static final int NO_PARENT = -1;

    private final int[] headBits;
    private final int[] nodeBits;
    private final int headSum;
    private final int nodeSum;
    /** All states in the order of their visits, which is the queue too; each a pair of longs, with its parent. */
    private long[][] pairs = new long[16][];
    private int[][] parents = new int[16][];
    private int size;
    /** An open table of places in the queue, plus one. */
    private int[] table = new int[1 << 16];
    private int parent = NO_PARENT;
    private String violation;
    private int violationPlace;
    /** The state that was packed last. */
    private long packedFirst;
    private long packedSecond;
    /** Gets the children of a state after the search; null while it runs. */
    private Consumer<Step> children;

    /** An event, the state that follows, and the places that the nodes had before their order was normalized. */
    private record Step(String client, String event, int node, long first, long second, int[] order,
            boolean isExchanged) {
    }

    /**
     * A search over states of one form.
     *
     * @param headBits bits of each number of the head
     * @param nodeBits bits of each number of a node; with those of the head, at most 63
     */
    StorySearch(int[] headBits, int[] nodeBits) {
        this.headBits = headBits.clone();
        this.nodeBits = nodeBits.clone();
        this.headSum = Arrays.stream(headBits).sum();
        this.nodeSum = Arrays.stream(nodeBits).sum();
        assert headSum + nodeSum <= Long.SIZE && 2 * nodeSum <= Long.SIZE : "a state fits into two longs";
    }

    /** Runs until every state is visited or a violation is found; returns the violation with its story, or null. */
    final String run() {
        return run(Integer.MAX_VALUE);
    }

    private String run(int statesMax) {
        visit(new byte[length()], "", "starts", NO_NODE);
        byte[] state = new byte[length()];
        for (int next = 0; next < size && size < statesMax && violation == null; next++) {
            parent = next;
            load(next, state);
            expand(state);
        }
        return violation == null ? null : violation + story(violationPlace);
    }

    final long stateCount() {
        return size;
    }

    final int length() {
        return headBits.length + NODES * nodeBits.length;
    }

    /** The place of the first number of a node. */
    final int node(int i) {
        return headBits.length + i * nodeBits.length;
    }

    /** Visits each state that follows a state by one event. */
    abstract void expand(byte[] state);

    /** Returns what is wrong with a state; null if nothing is. */
    abstract String violationOf(byte[] state);

    /** Changes a state into the one that stands for it. */
    void reduce(byte[] state) {
        // Each state stands for itself.
    }

    /** Returns a state with the last two clients exchanged; null if they are not interchangeable. */
    byte[] exchanged(byte[] state) {
        return null;
    }

    /** The names of the clients. The last two of three exchange theirs with their places. */
    abstract String[] clientNames();

    /**
     * Adds a state to the queue unless it was visited. The state may be changed.
     *
     * @param client the client of the event; empty if there is none
     * @param node   the place of the node of the event, or {@link #NO_NODE}
     */
    final void visit(byte[] state, String client, String event, int node) {
        if (violation != null && children == null) {
            return;
        }
        String wrong = children == null ? violationOf(state) : null;
        reduce(state);
        pack(state);
        long first = packedFirst;
        long second = packedSecond;
        byte[] other = exchanged(state);
        boolean isExchanged = false;
        if (other != null) {
            pack(other);
            isExchanged = packedFirst < first || packedFirst == first && packedSecond < second;
            first = isExchanged ? packedFirst : first;
            second = isExchanged ? packedSecond : second;
        }
        if (children != null) {
            children.accept(new Step(client, event, node, first, second, order(isExchanged ? other : state),
                    isExchanged));
            return;
        }
        add(first, second);
        if (wrong != null) {
            violation = wrong;
            violationPlace = positionOf(first, second);
        }
    }

    // ---- the story --------------------------------------------------------------------------------------------------

    /** The shortest sequence of events that leads to a state. */
    private String story(int end) {
        List<Integer> path = new ArrayList<>();
        for (int place = end; place != NO_PARENT; place = parents[place >> CHUNK_BITS][place & CHUNK - 1]) {
            path.add(place);
        }
        Collections.reverse(path);
        int[] nodes = {1, 2, 3};
        String[] clients = clientNames().clone();
        StringBuilder text = new StringBuilder();
        for (int i = 1; i < path.size(); i++) {
            int child = path.get(i);
            Step step = steps(path.get(i - 1)).stream()
                    .filter(each -> each.first == pair(child, 0) && each.second == pair(child, 1))
                    .findFirst()
                    .orElseThrow();
            int client = Arrays.asList(clientNames()).indexOf(step.client);
            text.append("\n  ")
                    .append(i)
                    .append(". ")
                    .append(client < 0 ? "" : clients[client] + ": ")
                    .append(step.event)
                    .append(step.node == NO_NODE ? "" : " at node " + nodes[step.node]);
            int[] before = nodes.clone();
            Arrays.setAll(nodes, place -> before[step.order[place]]);
            if (step.isExchanged) {
                Collections.reverse(Arrays.asList(clients).subList(clients.length - 2, clients.length));
            }
        }
        return text.toString();
    }

    /** The events of a state. */
    private List<Step> steps(int place) {
        List<Step> steps = new ArrayList<>();
        byte[] state = new byte[length()];
        load(place, state);
        children = steps::add;
        expand(state);
        children = null;
        return steps;
    }

    // ---- runs without an end ----------------------------------------------------------------------------------------

    /** Whether a state may not last for ever, nor a sequence of such states. */
    boolean isUnfinished(byte[] state) {
        return false;
    }

    /** Whether an event happens at last if it remains possible: a message arrives, a holder ends. */
    boolean isDue(String event) {
        return false;
    }

    /**
     * Runs as {@link #run}, then looks for a sequence of unfinished states that never ends though each event that is
     * due and remains possible happens: a strongly connected component of which no such event leads out.
     *
     * @param statesMax visits the nearest states only, about so many
     */
    final String runForever(int statesMax) {
        String wrong = run(statesMax);
        if (wrong != null) {
            return wrong;
        }
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
            for (Step step : steps(place)) {
                if (isDue(step.event)) {
                    dueHere.add(step.event);
                }
                int child = positionOf(step.first, step.second);
                if (child >= 0 && component[child] == home) {
                    inside.computeIfAbsent(home, key -> new TreeSet<>()).add(step.event);
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
        return "it never ends" + story(end) + "\n  from then on only: " + (events.isEmpty() ? "nothing" : events);
    }

    /** The strongly connected components of the unfinished states, from 1, by Tarjan's algorithm; 0 for others. */
    private int[] components() {
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
            if (number[start] != 0 || !isUnfinished(start)) {
                continue;
            }
            path.push(start);
            while (!path.isEmpty()) {
                int place = path.peek();
                if (number[place] == 0) {
                    number[place] = ++count;
                    low[place] = count;
                    open.push(place);
                    next[place] = steps(place).stream()
                            .mapToInt(step -> positionOf(step.first, step.second))
                            .filter(child -> child >= 0 && isUnfinished(child))
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

    private boolean isUnfinished(int place) {
        byte[] state = new byte[length()];
        load(place, state);
        return isUnfinished(state);
    }

    // ---- the states -------------------------------------------------------------------------------------------------

    /** The place of a state in the queue; -1 if it was not visited. */
    private int positionOf(long first, long second) {
        int mask = table.length - 1;
        int place = (int) mixed(first, second) & mask;
        while (table[place] != 0 && !isAt(table[place] - 1, first, second)) {
            place = place + 1 & mask;
        }
        return table[place] - 1;
    }

    private boolean isAt(int place, long first, long second) {
        return pair(place, 0) == first && pair(place, 1) == second;
    }

    private void add(long first, long second) {
        int mask = table.length - 1;
        int place = (int) mixed(first, second) & mask;
        while (table[place] != 0) {
            if (isAt(table[place] - 1, first, second)) {
                return;
            }
            place = place + 1 & mask;
        }
        int chunk = size >> CHUNK_BITS;
        if (chunk == pairs.length) {
            pairs = Arrays.copyOf(pairs, 2 * chunk);
            parents = Arrays.copyOf(parents, 2 * chunk);
        }
        if (pairs[chunk] == null) {
            pairs[chunk] = new long[2 * CHUNK];
            parents[chunk] = new int[CHUNK];
        }
        pairs[chunk][2 * (size & CHUNK - 1)] = first;
        pairs[chunk][2 * (size & CHUNK - 1) + 1] = second;
        parents[chunk][size & CHUNK - 1] = parent;
        table[place] = ++size;
        if (size > mask - (mask >>> 2)) {
            grow();
        }
    }

    private void grow() {
        table = new int[Math.multiplyExact(table.length, 2)];
        int mask = table.length - 1;
        for (int i = 0; i < size; i++) {
            int place = (int) mixed(pair(i, 0), pair(i, 1)) & mask;
            while (table[place] != 0) {
                place = place + 1 & mask;
            }
            table[place] = i + 1;
        }
    }

    private long pair(int place, int half) {
        return pairs[place >> CHUNK_BITS][2 * (place & CHUNK - 1) + half];
    }

    /** The finishing step of SplittableRandom. */
    private static long mixed(long first, long second) {
        long z = first * 0x9E3779B97F4A7C15L + second;
        z = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
        z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
        return z ^ z >>> 31;
    }

    private void pack(byte[] state) {
        long a = part(state, 0);
        long b = part(state, 1);
        long c = part(state, 2);
        long least = Math.min(a, Math.min(b, c));
        long greatest = Math.max(a, Math.max(b, c));
        packedFirst = packed(state, 0, headBits) << nodeSum | least;
        packedSecond = a + b + c - least - greatest << nodeSum | greatest;
    }

    /** The places of the nodes in the order of their parts. */
    private int[] order(byte[] state) {
        int[] order = {0, 1, 2};
        for (int i = 1; i < NODES; i++) {
            for (int j = i; j > 0 && part(state, order[j - 1]) > part(state, order[j]); j--) {
                int swap = order[j];
                order[j] = order[j - 1];
                order[j - 1] = swap;
            }
        }
        return order;
    }

    private long part(byte[] state, int i) {
        return packed(state, node(i), nodeBits);
    }

    private static long packed(byte[] state, int start, int[] bits) {
        long packed = 0;
        for (int i = 0; i < bits.length; i++) {
            assert state[start + i] >>> bits[i] == 0 : "number " + i + " is " + state[start + i];
            packed = packed << bits[i] | state[start + i];
        }
        return packed;
    }

    private void load(int place, byte[] state) {
        long mask = (1L << nodeSum) - 1;
        unpack(pair(place, 0) >>> nodeSum, state, 0, headBits);
        unpack(pair(place, 0) & mask, state, node(0), nodeBits);
        unpack(pair(place, 1) >>> nodeSum & mask, state, node(1), nodeBits);
        unpack(pair(place, 1) & mask, state, node(2), nodeBits);
    }

    private static void unpack(long packed, byte[] state, int start, int[] bits) {
        long left = packed;
        for (int i = bits.length - 1; i >= 0; i--) {
            state[start + i] = (byte) (left & (1 << bits[i]) - 1);
            left >>>= bits[i];
        }
    }
}
