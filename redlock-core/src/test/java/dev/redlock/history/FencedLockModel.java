package dev.redlock.history;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The sequential model of one resource: a lock with leases and fencing tokens, and a register that rejects tokens lower
 * than its value. The end of a lease is an action of its own, whether the lease is released or expires.
 */
final class FencedLockModel {
    static final State FREE = new State(List.of(), false, 0, 0);
    /** As documented for the chaos command. */
    private static final int PERMITS = 2;

    private FencedLockModel() {
    }

    /** The leases that hold the lock, the last token granted, and the value of the register. */
    record State(List<Integer> leases, boolean isExclusive, long granted, long register) {
    }

    enum Verb {
        ACQUIRE, ACQUIRE_SHARED, ACQUIRE_PERMIT, EXTEND, END, WRITE, REJECTED_WRITE, READ
    }

    /** A lease's number matters to verbs of the lock, and a token to the others and to an acquire; 0 is no token. */
    record Action(Verb verb, int lease, long token) {
    }

    static Optional<State> apply(State now, Action action) {
        boolean isHolder = now.leases.contains(action.lease);
        boolean isFree = now.leases.isEmpty();
        return switch (action.verb) {
            case ACQUIRE -> isFree && (action.token == 0 || action.token > now.granted)
                    ? Optional.of(new State(List.of(action.lease), true, Math.max(now.granted, action.token),
                            now.register))
                    : Optional.empty();
            case ACQUIRE_SHARED -> isFree || !now.isExclusive ? joined(now, action.lease) : Optional.empty();
            case ACQUIRE_PERMIT -> now.leases.size() < PERMITS ? joined(now, action.lease) : Optional.empty();
            case EXTEND -> isHolder ? Optional.of(now) : Optional.empty();
            case END -> isHolder ? left(now, action.lease) : Optional.empty();
            case WRITE -> action.token >= now.register && action.token <= now.granted
                    ? Optional.of(new State(now.leases, now.isExclusive, now.granted, action.token))
                    : Optional.empty();
            case REJECTED_WRITE -> action.token < now.register ? Optional.of(now) : Optional.empty();
            case READ -> action.token == now.register ? Optional.of(now) : Optional.empty();
        };
    }

    private static Optional<State> joined(State now, int lease) {
        List<Integer> leases = new ArrayList<>(now.leases);
        leases.add(lease);
        leases.sort(null);
        return Optional.of(new State(List.copyOf(leases), false, now.granted, now.register));
    }

    private static Optional<State> left(State now, int lease) {
        return Optional.of(new State(now.leases.stream().filter(other -> other != lease).toList(), now.isExclusive,
                now.granted, now.register));
    }
}
