package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

/**
 * Finds connected nodes that reply to one kind of command with errors only: out of memory, no persistence, a lost
 * permission.
 * <ul>
 * <li>A kind fails at its tenth error in a row, or at its second error if the first is at least a second old.
 * <li>It has recovered at its first grant, extension or release. A refusal counts if the last error is a second old,
 * because a script may refuse without a write.
 * <li>If it fails again within a minute, it must fail for ten seconds, so that an unstable node does not fill the log.
 * </ul>
 *
 * @threading event-loop-confined, except {@link #failing} and {@link #isAcquireFailing}
 */
final class NodeHealth {

    static final int ERRORS_MAX = 10;
    static final long SECOND_NS = 1_000_000_000L;
    static final long RELAPSE_NS = 60 * SECOND_NS;
    static final long RELAPSE_AGE_NS = 10 * SECOND_NS;

    /**
     * A kind of command that fails.
     *
     * @param errorCode the first word of the server's latest errors
     * @param sinceNs   monotonic time of the first one
     * @threading immutable
     */
    record Failing(String problem, String errorCode, long sinceNs, boolean isOfAcquires) {
    }

    /**
     * One kind of command.
     *
     * @threading event-loop-confined
     */
    private static final class ErrorRun {
        private final String commands;
        private int errorCount;
        private long firstNs;
        private long lastNs;
        private long endedNs;
        private boolean hasFailed;
        private Failing failing;

        ErrorRun(String commands) {
            this.commands = commands;
        }

        boolean isFailingNow(long nowNs) {
            long ageNs = nowNs - firstNs;
            if (hasFailed && nowNs - endedNs < RELAPSE_NS) {
                return errorCount > 1 && ageNs >= RELAPSE_AGE_NS;
            }
            return errorCount >= ERRORS_MAX || errorCount > 1 && ageNs >= SECOND_NS;
        }
    }

    private final ErrorRun[] kinds = {new ErrorRun("acquires"), new ErrorRun("extensions"),
        new ErrorRun("releases")};
    /** Whether a kind has had an error since its last grant, so that successful replies matter. */
    private boolean isSuspicious;
    private volatile Failing failing;

    private ErrorRun kindOf(CommandKind command) {
        return kinds[command.isAcquire ? 0 : command.isVote ? 1 : 2];
    }

    boolean isSuspicious() {
        return isSuspicious;
    }

    /** The node replied with an error: the problem if the kind of command fails from this error on, else null. */
    String onError(CommandKind command, String errorCode, long nowNs) {
        if (command.isOptional()) {
            return null;
        }
        ErrorRun kind = kindOf(command);
        isSuspicious = true;
        kind.firstNs = kind.errorCount++ == 0 ? nowNs : kind.firstNs;
        kind.lastNs = nowNs;
        boolean wasFailing = kind.failing != null;
        if (wasFailing ? errorCode.equals(kind.failing.errorCode) : !kind.isFailingNow(nowNs)) {
            return null;
        }
        String problem = "the node answers " + kind.commands + " with errors: " + errorCode + ": "
                + ErrorAdvice.of(errorCode);
        kind.failing = new Failing(problem, errorCode, kind.firstNs, command.isAcquire);
        failing = firstFailing();
        return wasFailing ? null : kind.failing.problem();
    }

    /**
     * The node replied without an error: a sentence if the kind of command failed before, else null. A refusal needs no
     * write.
     */
    String onReply(CommandKind command, boolean isRefusal, long nowNs) {
        if (command.isOptional()) {
            return null;
        }
        ErrorRun kind = kindOf(command);
        if (kind.errorCount == 0 || isRefusal && nowNs - kind.lastNs < SECOND_NS) {
            return null;
        }
        Failing ended = kind.failing;
        int errorCount = kind.errorCount;
        kind.errorCount = 0;
        kind.failing = null;
        isSuspicious = hasErrors();
        if (ended == null) {
            return null;
        }
        kind.hasFailed = true;
        kind.endedNs = nowNs;
        failing = firstFailing();
        return "the node answers " + kind.commands + " again, after " + errorCount + " errors in "
                + (nowNs - ended.sinceNs) / NS_PER_MS + " ms; the last error was " + ended.errorCode;
    }

    private boolean hasErrors() {
        for (ErrorRun kind : kinds) {
            if (kind.errorCount > 0) {
                return true;
            }
        }
        return false;
    }

    private Failing firstFailing() {
        for (ErrorRun kind : kinds) {
            if (kind.failing != null) {
                return kind.failing;
            }
        }
        return null;
    }

    /** @return whether acquires fail now; any thread */
    boolean isAcquireFailing() {
        Failing first = failing;
        return first != null && first.isOfAcquires();
    }

    /** @return the kind that fails now, acquires first; null if none does; any thread */
    Failing failing() {
        return failing;
    }
}
