package dev.redlock.loadtest.result;

/**
 * Whether figures may be quoted.
 *
 * @threading immutable
 */
public enum Verdict {
    /** The run counts. */
    PASS,
    /** It does not, for the reasons that stand beside it. */
    FAIL
}
