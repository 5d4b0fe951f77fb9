package dev.redlock.loadtest.result;

/** @threading immutable */
public enum Verdict {
    /** The run counts. */
    PASS,
    /** The run does not count; its failures are the reasons. */
    FAIL
}
