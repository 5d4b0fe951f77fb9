package dev.redlock.sim;

/** Thrown on purpose by what an application hands in. */
final class SimFault extends RuntimeException {

    private static final long serialVersionUID = 1L;

    SimFault(final String what) {
        super(what + " throws on purpose");
    }

    /** Whether something was thrown on purpose, by the application or for want of memory. */
    static boolean isMeant(final Throwable thrown) {
        return thrown instanceof SimFault || thrown instanceof FakeMemory.UsedUp
                || thrown != null && thrown.getCause() != null && isMeant(thrown.getCause());
    }
}
