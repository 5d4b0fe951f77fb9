package dev.redlock.search;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Visits every state that a model can reach, the nearest first, and prints the shortest counterexample: the steps to a
 * violation.
 *
 * <p>A state is an array of small numbers: a head, then a part of equal form for each node, if there are nodes. States
 * that stand for each other are one state: nodes are interchangeable unless a model says otherwise, and a model names
 * further exchanges ({@link #exchange}), or numbers that matter no more ({@link #reduce}). What follows a state must
 * not depend on the one of them that was visited.
 */
public abstract class StateSearch {

    protected static final int NO_NODE = -1;
    private static final int NO_PARENT = -1;

    private final int[] headBits;
    private final int nodeCount;
    private final int[] nodeBits;
    /** Nodes from this one on are interchangeable. */
    private final int firstAlike;
    private final int headSum;
    private final int nodeSum;
    private final SearchQueue states = new SearchQueue();
    /** The place of the state whose events are visited. */
    private int parent = NO_PARENT;
    /** The places to go on from, if the latest is the first; null otherwise. */
    private int[] open;
    private int openLength;
    /** An event of the present state, which is about to be visited, is wrong. */
    private String wrongEvent;
    private String violation;
    private int violationParent;
    /** The parts of the nodes of the state that was packed last, and the state. */
    private final long[] parts;
    private long packedFirst;
    private long packedSecond;
    /** The least of the states that stand for the visited one. */
    private long leastHead;
    private long leastFirst;
    private long leastSecond;
    /** Gets the events of one state after the search; null while it runs. */
    private List<Step> steps;
    /** This state; null before the starts. */
    private byte[] before;

    /** An event and the state that follows. */
    record Step(String client, String event, int node, byte[] state, long first, long second, String wrong) {
        @Override
        public String toString() {
            return (client.isEmpty() ? "" : client + ": ") + event + (node == NO_NODE ? "" : " at node " + (node + 1));
        }
    }

    /**
     * A search over states of one form. A state has 128 bits at most.
     *
     * @param headBits bits of each number of the head
     * @param nodeBits bits of each number of a node, together 62 at most
     */
    protected StateSearch(int[] headBits, int nodeCount, int... nodeBits) {
        this(0, headBits, nodeCount, nodeBits);
    }

    /** A search in which the first nodes are not interchangeable. */
    protected StateSearch(int firstAlike, int[] headBits, int nodeCount, int... nodeBits) {
        this.firstAlike = firstAlike;
        this.headBits = headBits.clone();
        this.nodeCount = nodeCount;
        this.nodeBits = nodeBits.clone();
        this.headSum = Arrays.stream(headBits).sum();
        this.nodeSum = Arrays.stream(nodeBits).sum();
        this.parts = new long[nodeCount];
        assert headSum < Long.SIZE && nodeSum < Long.SIZE - 1 && headSum + nodeCount * nodeSum <= 2 * Long.SIZE
                : "a state fits into two longs";
    }

    // ---- the model --------------------------------------------------------------------------------------------------

    /** Visits each state in which a run may start: the one with all numbers 0. */
    protected void start() {
        visit(new byte[length()], "", "starts", NO_NODE);
    }

    /** Visits each state that follows a state by one event. */
    protected abstract void expand(byte[] state);

    /** Returns what is wrong with a state; null if nothing is. */
    protected String violationOf(byte[] state) {
        return null;
    }

    /** Changes a state into the one that stands for it. */
    protected void reduce(byte[] state) {
        // Each state stands for itself.
    }

    /** Passes each other state that stands for the same to {@link #alike}, whatever the order of nodes is. */
    protected void exchange(byte[] state) {
        // There is none.
    }

    /** A node as a number of as many bits as its numbers have. */
    protected long packedNode(byte[] state, int i) {
        return packed(state, node(i), nodeBits);
    }

    /** Undoes {@link #packedNode}. */
    protected void unpackNode(long packed, byte[] state, int i) {
        unpack(packed, state, node(i), nodeBits);
    }

    // ---- for the model ----------------------------------------------------------------------------------------------

    protected final int length() {
        return headBits.length + nodeCount * nodeBits.length;
    }

    /** The place of the first number of a node. */
    protected final int node(int i) {
        return headBits.length + i * nodeBits.length;
    }

    /** The event that is visited next is wrong, or, if none is, the present state. */
    protected final void violate(String text) {
        wrongEvent = text;
    }

    /** Visits a state by an event that is described by the methods of the model and the numbers that change. */
    protected final void visit(byte[] state) {
        visit(state, "", "", NO_NODE);
    }

    /**
     * Visits a state. The state may be changed.
     *
     * @param client the client of the event; empty if there is none
     * @param event  what happens; empty to describe it as {@link #visit(byte[])}
     * @param node   the node of the event, or {@link #NO_NODE}
     */
    protected final void visit(byte[] state, String client, String event, int node) {
        if (violation != null && steps == null) {
            return;
        }
        String wrongState = violationOf(state);
        String wrong = wrongState == null ? wrongEvent : wrongState;
        wrongEvent = null;
        reduce(state);
        for (int i = 0; i < nodeCount; i++) {
            parts[i] = packedNode(state, i);
        }
        leastHead = packed(state, 0, headBits);
        combine(leastHead);
        leastFirst = packedFirst;
        leastSecond = packedSecond;
        exchange(state);
        if (steps != null) {
            String words = event.isEmpty() ? callers() + change(state) : event;
            steps.add(new Step(client, words, node, state.clone(), leastFirst, leastSecond, wrong));
            return;
        }
        if (states.add(leastFirst, leastSecond, parent) && open != null) {
            open = openLength == open.length ? Arrays.copyOf(open, 2 * openLength) : open;
            open[openLength++] = states.size() - 1;
        }
        if (wrong != null) {
            violation = wrong;
            violationParent = parent;
        }
    }

    /** A state that stands for the visited one, too. The least of them is kept. */
    protected final void alike(byte[] other) {
        long head = packed(other, 0, headBits);
        if (head <= leastHead) {
            for (int i = 0; i < nodeCount; i++) {
                parts[i] = packedNode(other, i);
            }
            keepLess(head);
        }
    }

    /** As {@link #alike(byte[])}, with the numbers of a state, each from the place that is named. */
    protected final void alike(byte[] state, int[] places) {
        long head = packed(state, places, 0, headBits);
        if (head <= leastHead) {
            for (int i = 0; i < nodeCount; i++) {
                parts[i] = packed(state, places, node(i), nodeBits);
            }
            keepLess(head);
        }
    }

    /** Sorts few numbers. */
    protected static void sort(long[] parts, int from) {
        for (int i = from + 1; i < parts.length; i++) {
            long part = parts[i];
            int place = i;
            while (place > from && parts[place - 1] > part) {
                parts[place] = parts[place - 1];
                place--;
            }
            parts[place] = part;
        }
    }

    /** Exchanges a range of numbers with another one. */
    protected static void swap(byte[] state, int one, int other, int length) {
        for (int i = 0; i < length; i++) {
            byte value = state[one + i];
            state[one + i] = state[other + i];
            state[other + i] = value;
        }
    }

    /** Takes one from a number that is above 0: time passes. */
    protected static void decrement(byte[] state, int place) {
        state[place] = (byte) Math.max(0, state[place] - 1);
    }

    /** Every order of some clients, the present one first. */
    protected static List<int[]> orders(int count) {
        List<int[]> orders = List.of(new int[0]);
        for (int length = 0; length < count; length++) {
            orders = orders.stream()
                    .flatMap(order -> IntStream.range(0, count)
                            .filter(c -> Arrays.stream(order).noneMatch(other -> other == c))
                            .mapToObj(c -> bits(order, 1, c)))
                    .collect(Collectors.toList());
        }
        return orders;
    }

    /** The bits of some numbers, then those of a part that is repeated. */
    protected static int[] bits(int[] head, int count, int... part) {
        return IntStream.concat(Arrays.stream(head),
                IntStream.range(0, count).flatMap(i -> Arrays.stream(part))).toArray();
    }

    // ---- the search -------------------------------------------------------------------------------------------------

    /** Runs until every state is visited or a violation is found; returns the violation with its steps, or null. */
    public final String run() {
        return run(Integer.MAX_VALUE);
    }

    /** Continues with the latest state: it finds a far violation sooner, by more steps than anybody can read. */
    public final StateSearch latestFirst() {
        open = new int[1 << 10];
        return this;
    }

    /** A search that ends when about so many of the nearest states are visited. */
    final String run(int statesMax) {
        start();
        byte[] state = new byte[length()];
        while (violation == null && states.size() < statesMax && next()) {
            load(parent, state);
            expand(state);
            if (wrongEvent != null && violation == null) {
                violation = wrongEvent;
                violationParent = parent;
            }
        }
        return violation == null || open != null ? violation : violation + counterexample();
    }

    private boolean next() {
        if (open == null) {
            return ++parent < states.size();
        }
        parent = openLength > 0 ? open[--openLength] : NO_PARENT;
        return parent != NO_PARENT;
    }

    public final long stateCount() {
        return states.size();
    }

    final SearchQueue states() {
        return states;
    }

    // ---- the counterexample -----------------------------------------------------------------------------------------

    private String counterexample() {
        List<Step> path = stepsTo(violationParent);
        byte[] last = path.isEmpty() ? null : path.get(path.size() - 1).state;
        step(last, violationParent, step -> step.wrong != null).ifPresent(path::add);
        return toText(path);
    }

    /** The shortest sequence of events that leads to a state. Nodes and clients keep their places in it. */
    final List<Step> stepsTo(int end) {
        List<Integer> places = new ArrayList<>();
        for (int place = end; place != NO_PARENT; place = states.parent(place)) {
            places.add(place);
        }
        Collections.reverse(places);
        List<Step> path = new ArrayList<>();
        byte[] state = null;
        for (int place : places) {
            Step step = step(state, states.parent(place),
                    each -> each.first == states.first(place) && each.second == states.second(place)).orElseThrow();
            path.add(step);
            state = step.state;
        }
        return path;
    }

    /** The event of a state, or else of the state at a place, which stands for it. */
    private Optional<Step> step(byte[] state, int place, Predicate<Step> isSought) {
        return Stream.of(state, loaded(place)).flatMap(each -> steps(each).stream()).filter(isSought).findFirst();
    }

    static String toText(List<Step> path) {
        return IntStream.range(0, path.size())
                .mapToObj(i -> "\n  " + i + ". " + path.get(i))
                .collect(Collectors.joining());
    }

    /** The events of a state; of null, the starts. */
    final List<Step> steps(byte[] state) {
        List<Step> found = new ArrayList<>();
        steps = found;
        before = state;
        if (state == null) {
            start();
        } else {
            expand(state);
        }
        steps = null;
        wrongEvent = null;
        return found;
    }

    /** The methods of the model that lead to a visit. */
    private static String callers() {
        List<String> names = StackWalker.getInstance()
                .walk(frames -> frames.map(StackWalker.StackFrame::getMethodName)
                        .takeWhile(name -> !name.equals("steps"))
                        .filter(name -> !name.matches("callers|visit.*|expand|lambda.*"))
                        .collect(Collectors.toList()));
        Collections.reverse(names);
        return String.join(", ", names).replaceAll("(\\p{Upper})", " $1").toLowerCase(Locale.ROOT) + ": ";
    }

    /** The head and the nodes that differ from those before. */
    private String change(byte[] state) {
        List<String> changes = new ArrayList<>();
        addChange(changes, "", state, 0, headBits.length);
        for (int i = 0; i < nodeCount; i++) {
            addChange(changes, "node " + (i + 1) + " ", state, node(i), node(i + 1));
        }
        return String.join(", ", changes);
    }

    private void addChange(List<String> changes, String name, byte[] state, int from, int to) {
        if (before == null || !Arrays.equals(state, from, to, before, from, to)) {
            changes.add(name + Arrays.toString(Arrays.copyOfRange(state, from, to)));
        }
    }

    // ---- states as numbers ------------------------------------------------------------------------------------------

    /** Makes one number of the head and the sorted parts. */
    private void combine(long head) {
        sort(parts, firstAlike);
        long first = 0;
        long second = head;
        for (long part : parts) {
            first = first << nodeSum | second >>> Long.SIZE - nodeSum;
            second = second << nodeSum | part;
        }
        packedFirst = first;
        packedSecond = second;
    }

    private void keepLess(long head) {
        combine(head);
        int order = Long.compareUnsigned(packedFirst, leastFirst);
        if (order < 0 || order == 0 && Long.compareUnsigned(packedSecond, leastSecond) < 0) {
            leastHead = head;
            leastFirst = packedFirst;
            leastSecond = packedSecond;
        }
    }

    private static long packed(byte[] state, int[] places, int start, int[] bits) {
        long packed = 0;
        for (int i = 0; i < bits.length; i++) {
            packed = packed << bits[i] | state[places[start + i]];
        }
        return packed;
    }

    private static long packed(byte[] state, int start, int[] bits) {
        long packed = 0;
        int rest = 0;
        for (int i = 0; i < bits.length; i++) {
            int number = state[start + i];
            rest |= number >>> bits[i];
            packed = packed << bits[i] | number;
        }
        assert rest == 0 : "each number fits its bits: " + Arrays.toString(state);
        return packed;
    }

    /** The state at a place; null before the starts. */
    final byte[] loaded(int place) {
        if (place == NO_PARENT) {
            return null;
        }
        byte[] state = new byte[length()];
        load(place, state);
        return state;
    }

    private void load(int place, byte[] state) {
        long first = states.first(place);
        long second = states.second(place);
        for (int i = nodeCount - 1; i >= 0; i--) {
            unpackNode(second & (1L << nodeSum) - 1, state, i);
            second = second >>> nodeSum | first << Long.SIZE - nodeSum;
            first >>>= nodeSum;
        }
        unpack(second, state, 0, headBits);
    }

    private static void unpack(long packed, byte[] state, int start, int[] bits) {
        long left = packed;
        for (int i = bits.length - 1; i >= 0; i--) {
            state[start + i] = (byte) (left & (1 << bits[i]) - 1);
            left >>>= bits[i];
        }
    }
}
