package dev.redlock.history;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiFunction;

/**
 * Decides whether a concurrent history is linearizable: the search of Wing and Gong, which lifts one operation after
 * the other out of a list of calls and returns, with the cache of Lowe, which never visits a set of lifted operations
 * twice in the same state.
 */
final class Linearizability<S, A> {
    /** The return of an operation that may take effect at any later time, or never. */
    static final long NEVER = Long.MAX_VALUE;

    private final BiFunction<S, A, Optional<S>> model;
    private final Entry head = new Entry(null, Long.MIN_VALUE, false);
    private final BitSet lifted = new BitSet();
    private final Set<Visited> visited = new HashSet<>();
    private final Deque<Step<S>> steps = new ArrayDeque<>();
    private S state;
    private int openReturns;

    /** An operation that takes effect once between its call and its return, both included. */
    record Operation<A>(long callNs, long returnNs, A action) {
    }

    /** A call or a return in a doubly linked list. */
    private static final class Entry {
        private final Operation<?> operation;
        private final long timeNs;
        private final boolean isReturn;
        private int number;
        private Entry match;
        private Entry before;
        private Entry next;

        Entry(Operation<?> operation, long timeNs, boolean isReturn) {
            this.operation = operation;
            this.timeNs = timeNs;
            this.isReturn = isReturn;
        }

        void unlink() {
            before.next = next;
            if (next != null) {
                next.before = before;
            }
        }

        void relink() {
            before.next = this;
            if (next != null) {
                next.before = this;
            }
        }
    }

    /** The lifted operations: all before the first word, and those of the words. */
    private record Visited(int firstWord, List<Long> words, Object state) {
        static Visited of(BitSet lifted, Object state) {
            int firstWord = lifted.nextClearBit(0) / Long.SIZE;
            long[] words = lifted.toLongArray();
            List<Long> rest = firstWord >= words.length
                    ? List.of()
                    : Arrays.stream(words, firstWord, words.length).boxed().toList();
            return new Visited(firstWord, rest, state);
        }
    }

    private record Step<S>(Entry call, S before) {
    }

    private Linearizability(BiFunction<S, A, Optional<S>> model, S initial, List<Operation<A>> operations) {
        this.model = model;
        this.state = initial;
        List<Entry> entries = new ArrayList<>();
        for (Operation<A> operation : operations) {
            Entry call = new Entry(operation, operation.callNs(), false);
            entries.add(call);
            if (operation.returnNs() != NEVER) {
                Entry end = new Entry(operation, operation.returnNs(), true);
                call.match = end;
                entries.add(end);
                openReturns++;
            }
        }
        entries.sort(Comparator.<Entry>comparingLong(entry -> entry.timeNs).thenComparing(entry -> entry.isReturn));
        Entry last = head;
        int number = 0;
        for (Entry entry : entries) {
            entry.number = entry.isReturn ? 0 : number++;
            entry.before = last;
            last.next = entry;
            last = entry;
        }
    }

    /**
     * Empty if the operations can be ordered so that the model permits each of them, and each is between its call and
     * its return. Otherwise the first operation that no order gets past.
     *
     * @param model the next state, or nothing if the action is not permitted in this state
     */
    static <S, A> Optional<String> violation(BiFunction<S, A, Optional<S>> model, S initial,
            List<Operation<A>> operations) {
        return new Linearizability<>(model, initial, operations).search();
    }

    @SuppressWarnings("unchecked")
    private Optional<String> search() {
        Entry at = head.next;
        Entry farthest = null;
        while (openReturns > 0) {
            if (!at.isReturn) {
                Optional<S> next = model.apply(state, (A) at.operation.action());
                at = next.isPresent() && lift(at, next.get()) ? head.next : at.next;
                continue;
            }
            farthest = farthest == null || at.timeNs > farthest.timeNs ? at : farthest;
            if (steps.isEmpty()) {
                return Optional.of("no order of the operations gets past " + farthest.operation);
            }
            at = undo().next;
        }
        return Optional.empty();
    }

    private boolean lift(Entry call, S next) {
        lifted.set(call.number);
        if (!visited.add(Visited.of(lifted, next))) {
            lifted.clear(call.number);
            return false;
        }
        steps.push(new Step<>(call, state));
        state = next;
        call.unlink();
        if (call.match != null) {
            call.match.unlink();
            openReturns--;
        }
        return true;
    }

    private Entry undo() {
        Step<S> step = steps.pop();
        Entry call = step.call();
        if (call.match != null) {
            call.match.relink();
            openReturns++;
        }
        call.relink();
        lifted.clear(call.number);
        state = step.before();
        return call;
    }
}
