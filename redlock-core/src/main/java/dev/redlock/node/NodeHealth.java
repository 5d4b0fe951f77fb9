package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

/**
 * Finds that a connected node answers one kind of command with errors alone, as a node does that is out of memory, that
 * cannot persist, or whose user has lost a right.
 *
 * <p>A kind of command fails from its tenth error in a row on, or from its second if the first is a second old. It
 * works again with its first grant (an acquire that the node granted, an extension, a release), or with a refusal if
 * the last error is a second old: a script can refuse where it could not have written. A kind that fails again within a
 * minute has to fail for ten seconds, so a node that comes and goes does not fill the log.
 *
 * @threading event-loop-confined, except {@link #failing}
 */
final class NodeHealth {

    static final int ERRORS_MAX = 10;
    static final long SECOND_NS = 1_000_000_000L;
    static final long RELAPSE_NS = 60 * SECOND_NS;
    static final long RELAPSE_AGE_NS = 10 * SECOND_NS;

    /**
     * What fails.
     *
     * @param problem   one sentence for people
     * @param errorCode the first word of the server's latest errors
     * @param sinceNs   monotonic time of the first of them
     * @threading immutable
     */
    record Failing(String problem, String errorCode, long sinceNs) {
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

        ErrorRun(final String commands) {
            this.commands = commands;
        }

        boolean isFailingNow(final long nowNs) {
            final long ageNs = nowNs - firstNs;
            if (hasFailed && nowNs - endedNs < RELAPSE_NS) {
                return errorCount > 1 && ageNs >= RELAPSE_AGE_NS;
            }
            return errorCount >= ERRORS_MAX || errorCount > 1 && ageNs >= SECOND_NS;
        }
    }

    private final ErrorRun[] kinds = {new ErrorRun("acquires"), new ErrorRun("extensions"),
        new ErrorRun("releases")};
    /** Whether an answer that is no error has to be looked at: some kind has had an error since its last grant. */
    private boolean isSuspicious;
    private volatile Failing failing;

    private ErrorRun kindOf(final CommandKind command) {
        return kinds[command.isAcquire() ? 0 : command.isVote() ? 1 : 2];
    }

    boolean isSuspicious() {
        return isSuspicious;
    }

    /**
     * A command was answered with an error.
     *
     * @param command      what was asked
     * @param errorCode the first word of the error
     * @param nowNs     monotonic time
     * @return what is wrong if the command is found to fail with this error, else null
     */
    String onError(final CommandKind command, final String errorCode, final long nowNs) {
        if (command == CommandKind.REMAINING_TTL) {
            return null;
        }
        final ErrorRun kind = kindOf(command);
        isSuspicious = true;
        kind.firstNs = kind.errorCount++ == 0 ? nowNs : kind.firstNs;
        kind.lastNs = nowNs;
        final boolean wasFailing = kind.failing != null;
        if (wasFailing ? errorCode.equals(kind.failing.errorCode) : !kind.isFailingNow(nowNs)) {
            return null;
        }
        kind.failing = new Failing("it answers " + kind.commands + " with errors: " + errorCode, errorCode,
                kind.firstNs);
        failing = firstFailing();
        return wasFailing ? null : kind.failing.problem();
    }

    /**
     * A command was answered.
     *
     * @param command      what was asked
     * @param isRefusal whether the answer is one that needs no write: a refusal
     * @param nowNs     monotonic time
     * @return a sentence if the command failed before, else null
     */
    String onAnswer(final CommandKind command, final boolean isRefusal, final long nowNs) {
        if (command == CommandKind.REMAINING_TTL) {
            return null;
        }
        final ErrorRun kind = kindOf(command);
        if (kind.errorCount == 0 || isRefusal && nowNs - kind.lastNs < SECOND_NS) {
            return null;
        }
        final Failing ended = kind.failing;
        final int errorCount = kind.errorCount;
        kind.errorCount = 0;
        kind.failing = null;
        isSuspicious = hasErrors();
        if (ended == null) {
            return null;
        }
        kind.hasFailed = true;
        kind.endedNs = nowNs;
        failing = firstFailing();
        return "it answers " + kind.commands + " again, after " + errorCount + " errors in "
                + (nowNs - ended.sinceNs) / NS_PER_MS + " ms, the last of them " + ended.errorCode;
    }

    private boolean hasErrors() {
        for (final ErrorRun kind : kinds) {
            if (kind.errorCount > 0) {
                return true;
            }
        }
        return false;
    }

    private Failing firstFailing() {
        for (final ErrorRun kind : kinds) {
            if (kind.failing != null) {
                return kind.failing;
            }
        }
        return null;
    }

    /** @return what fails now, acquires first; null if nothing does; any thread may ask */
    Failing failing() {
        return failing;
    }
}
