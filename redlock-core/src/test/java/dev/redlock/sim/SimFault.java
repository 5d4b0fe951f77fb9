package dev.redlock.sim;

/** Thrown on purpose by application code. */
final class SimFault extends RuntimeException {

    private static final long serialVersionUID = 1L;

    SimFault(String what) {
        super(what + " throws on purpose");
    }

    /** Returns whether an exception was thrown on purpose, by application code or an exhausted allocator. */
    static boolean isMeant(Throwable thrown) {
        return thrown instanceof SimFault || thrown instanceof FakeMemory.UsedUp || isReadWithoutMemory(thrown)
                || thrown != null && thrown.getCause() != null && isMeant(thrown.getCause());
    }

    /** In-process channels run a read as a task, whose exception Netty logs; a socket closes its connection. */
    private static boolean isReadWithoutMemory(Throwable thrown) {
        return thrown instanceof OutOfMemoryError && "no direct memory to read into".equals(thrown.getMessage());
    }
}
