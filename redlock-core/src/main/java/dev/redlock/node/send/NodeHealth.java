package dev.redlock.node.send;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import java.util.Set;

/**
 * Finds connected nodes that reply to one kind of command with errors only: out of memory, no persistence, a lost
 * permission.
 * <ul>
 * <li>A kind fails at its tenth error in a row, or at its second error if the first is at least a second old.
 * <li>It has recovered at its first grant or extension. A refusal counts if the last error is a second old, because a
 * script may refuse without a write.
 * <li>An error about the counter of one lock is no error of acquires.
 * <li>If it fails again within a minute, it must fail for ten seconds, so that an unstable node does not fill the log.
 * </ul>
 *
 * <p>A release that fails leaves a lock behind. So the first error of a release is shown. It is over when a key has
 * been deleted, if the error may be about rights ten seconds later: another key or script may work meanwhile. A release
 * that finds no key of its own deletes none, so it proves nothing.
 *
 * <p>While acquires fail because of the state of the server, the node is asked for a write, and its reply counts too:
 * a client without a quorum may get no work, and so send no acquire. Without an error of acquires or of releases for a
 * minute, there is no proof of a problem either.
 *
 * @threading event-loop-confined, except {@link #problem}, {@link #failing} and {@link #isVoteFailing}
 */
public final class NodeHealth {

    static final int ERRORS_MAX = 10;
    static final long SECOND_NS = 1_000_000_000L;
    static final long RELAPSE_NS = 60 * SECOND_NS;
    static final long RELAPSE_AGE_NS = 10 * SECOND_NS;
    static final long RELEASE_ERROR_NS = 10 * SECOND_NS;
    private static final String ACQUIRES = "acquires";
    private static final String RELEASES = "releases";
    private static final int ACQUIRES_INDEX = 0;
    private static final int RELEASES_INDEX = 1;
    /** The first words of errors about missing rights and unknown commands, also of those in a script. */
    private static final Set<String> RIGHTS_CODES = Set.of("NOPERM", "ERR");
    /** A key of another program: it says nothing about other locks. */
    private static final String OTHER_TYPE = "WRONGTYPE";
    /** Errors about the counter of one lock. The outcome of its acquire has them. */
    private static final Set<String> OF_ONE_COUNTER = Set.of(OTHER_TYPE, "FENCE");

    /**
     * A kind of command that fails.
     *
     * @param errorCode the first word of the server's latest errors
     * @param sinceNs   monotonic time of the first one
     * @param isVoteUseless whether the node grants no lock, or does not release it
     * @threading immutable
     */
    public record Failing(String problem, String errorCode, long sinceNs, boolean isVoteUseless) {
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

        boolean isOfReleases() {
            return commands.equals(RELEASES);
        }

        /** Whether the errors are more than a few. */
        boolean isLasting(long nowNs) {
            long ageNs = nowNs - firstNs;
            if (hasFailed && nowNs - endedNs < RELAPSE_NS) {
                return errorCount > 1 && ageNs >= RELAPSE_AGE_NS;
            }
            return errorCount >= ERRORS_MAX || errorCount > 1 && ageNs >= SECOND_NS;
        }

        boolean isFailingNow(String errorCode, long nowNs) {
            return isOfReleases() && !errorCode.equals(OTHER_TYPE) || isLasting(nowNs);
        }

        /** Whether a reply without an error proves nothing. */
        boolean isUnproven(boolean isRefusal, long nowNs) {
            return isOfReleases()
                    ? isRefusal || isForbidden() && nowNs - lastNs < RELEASE_ERROR_NS
                    : isRefusal && nowNs - lastNs < SECOND_NS;
        }

        /** Whether the error may be about rights. */
        boolean isForbidden() {
            return failing != null && RIGHTS_CODES.contains(failing.errorCode);
        }

        /** Whether the node grants no lock, or does not release it. */
        boolean isVoteUseless(long nowNs) {
            return commands.equals(ACQUIRES) || isOfReleases() && isLasting(nowNs);
        }

        String problem(String errorCode) {
            return "the node answers " + commands + " with errors: " + errorCode + ": " + ErrorAdvice.of(errorCode)
                    + (isOfReleases() ? "; locks that it does not release block others until their ttl ends" : "");
        }
    }

    private final ErrorRun[] kinds = {new ErrorRun(ACQUIRES), new ErrorRun(RELEASES), new ErrorRun("extensions"),
        new ErrorRun("checks of locks")};
    /** Whether a kind has had an error since its last grant, so that successful replies matter. */
    private boolean isSuspicious;
    private volatile Failing failing;
    private volatile String problem;
    private volatile boolean isVoteFailing;

    private ErrorRun kindOf(CommandKind command) {
        return kinds[command.isAcquire ? 0 : command.isRelease() ? RELEASES_INDEX : command.isVote ? 2 : 3];
    }

    boolean isSuspicious() {
        return isSuspicious;
    }

    /** The node replied with an error: the problem if the kind of command fails from this error on, else null. */
    String onError(CommandKind command, String errorCode, long nowNs) {
        if (command.isOptional() || command.isAcquire && command.hasCounter && OF_ONE_COUNTER.contains(errorCode)) {
            return null;
        }
        ErrorRun kind = kindOf(command);
        isSuspicious = true;
        kind.firstNs = kind.errorCount++ == 0 ? nowNs : kind.firstNs;
        kind.lastNs = nowNs;
        Failing before = kind.failing;
        if (before == null && !kind.isFailingNow(errorCode, nowNs)) {
            return null;
        }
        boolean isVoteUseless = kind.isVoteUseless(nowNs);
        boolean isChange = before == null || before.isVoteUseless != isVoteUseless;
        if (isChange || !errorCode.equals(before.errorCode)) {
            kind.failing = new Failing(kind.problem(errorCode), errorCode, kind.firstNs, isVoteUseless);
            publish();
        }
        return isChange ? kind.failing.problem() : null;
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
        if (kind.errorCount == 0 || kind.isUnproven(isRefusal, nowNs)) {
            return null;
        }
        return recovered(kind, nowNs);
    }

    private String recovered(ErrorRun kind, long nowNs) {
        Failing ended = kind.failing;
        int errorCount = kind.errorCount;
        end(kind, nowNs);
        return ended == null
                ? null
                : "the node answers " + kind.commands + " again, after " + errorCount + " errors in "
                        + (nowNs - ended.sinceNs) / NS_PER_MS + " ms; the last error was " + ended.errorCode;
    }

    private void end(ErrorRun kind, long nowNs) {
        if (kind.failing != null) {
            kind.hasFailed = true;
            kind.endedNs = nowNs;
        }
        kind.errorCount = 0;
        kind.failing = null;
        isSuspicious = hasErrors();
        publish();
    }

    /** The user may run all commands of a release: an error about rights is out of date. */
    void onRightsProven(long nowNs) {
        if (isReleaseForbidden()) {
            end(kinds[RELEASES_INDEX], nowNs);
        }
    }

    /** Whether releases fail, maybe for lack of a right. */
    boolean isReleaseForbidden() {
        return kinds[RELEASES_INDEX].isForbidden();
    }

    /** Whether acquires fail. */
    boolean isAcquireFailing() {
        return kinds[ACQUIRES_INDEX].failing != null;
    }

    /**
     * The node was asked for a write: a sentence if it has recovered, else null. Errors about rights or about one
     * command prove nothing, because the script of an acquire may fail where the write works, and the reverse.
     *
     * @param errorCode the first word of the reply; null if it is no error
     */
    String onWriteAnswer(String errorCode, long nowNs) {
        ErrorRun acquires = kinds[ACQUIRES_INDEX];
        if (acquires.failing == null) {
            return null;
        }
        if (errorCode == null) {
            return VoteFailure.ofCode(acquires.failing.errorCode).isTemporary() ? recovered(acquires, nowNs) : null;
        }
        if (VoteFailure.ofCode(errorCode).isTemporary()) {
            acquires.lastNs = nowNs;
        }
        return null;
    }

    /** Forgets old errors of acquires or of releases; returns a sentence if there were any, else null. */
    String forget(long nowNs) {
        for (int i = ACQUIRES_INDEX; i <= RELEASES_INDEX; i++) {
            ErrorRun kind = kinds[i];
            if (kind.failing != null && nowNs - kind.lastNs >= RELAPSE_NS) {
                end(kind, nowNs);
                return "no error of " + kind.commands + " for " + RELAPSE_NS / SECOND_NS + " s";
            }
        }
        return null;
    }

    private boolean hasErrors() {
        for (ErrorRun kind : kinds) {
            if (kind.errorCount > 0) {
                return true;
            }
        }
        return false;
    }

    private void publish() {
        Failing first = null;
        String text = null;
        boolean isAnyVoteUseless = false;
        for (ErrorRun kind : kinds) {
            Failing next = kind.failing;
            if (next != null) {
                first = first == null ? next : first;
                text = text == null ? next.problem() : text + "; " + next.problem();
                isAnyVoteUseless |= next.isVoteUseless();
            }
        }
        failing = first;
        problem = text;
        isVoteFailing = isAnyVoteUseless;
    }

    /** @return whether a vote of the node is useless: acquires fail now, or no lock is released; any thread */
    public boolean isVoteFailing() {
        return isVoteFailing;
    }

    /** @return the kinds of commands that fail now; null if none does; any thread */
    public String problem() {
        return problem;
    }

    /** @return the kind that fails now, acquires first, then releases; null if none does; any thread */
    public Failing failing() {
        return failing;
    }
}
