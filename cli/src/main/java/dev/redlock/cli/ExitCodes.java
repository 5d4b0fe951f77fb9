package dev.redlock.cli;

/**
 * The exit codes of the commands, beside picocli's own 2 for a wrong option.
 *
 * @threading immutable
 */
public final class ExitCodes {
    /** The run counts. */
    public static final int GOOD = 0;
    /** The run failed. */
    public static final int FAILED = 1;
    /** No nodes. */
    public static final int NO_NODES = 3;
    /** Nothing failed, but something the user asked for did not run. */
    public static final int NOT_PLAYED = 4;
    /** A bug. */
    public static final int BUG = 70;
    /** Ctrl-C. */
    public static final int INTERRUPTED = 130;

    private ExitCodes() {
    }
}
