package dev.redlock.engine;

import dev.redlock.node.LockKind;

/**
 * The keys of the other kinds of lock of a resource, each made when it is first needed. Any thread may make one again.
 *
 * @threading any thread
 */
final class KindKeys {

    private final LockKey plain;
    private LockKey reading;
    private LockKey writing;
    private PermitKey permit;

    KindKeys(LockKey plain) {
        this.plain = plain;
    }

    LockKey of(LockKind kind, int permitCount) {
        switch (kind) {
            case READ -> {
                reading = reading == null ? made(kind) : reading;
                return reading;
            }
            case WRITE -> {
                writing = writing == null ? made(kind) : writing;
                return writing;
            }
            case PERMIT -> {
                return permit(permitCount);
            }
            default -> {
                return plain;
            }
        }
    }

    /** The key of a reader or writer: the same keys on the nodes, and a lock of its own in this client. */
    private LockKey made(LockKind kind) {
        return new ResourcesKey(plain.text, kind, plain.hashCode() * 31 + kind.ordinal(), plain.orderHash, plain);
    }

    private PermitKey permit(int permitCount) {
        PermitKey known = permit;
        if (known == null || known.permitCount() != permitCount) {
            known = new PermitKey(plain, permitCount);
            permit = known;
        }
        return known;
    }
}
