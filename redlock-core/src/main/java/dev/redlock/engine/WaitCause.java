package dev.redlock.engine;

/**
 * Why an acquisition has no lock though the last attempt of its own does not say it, or there was none.
 *
 * @threading immutable
 */
enum WaitCause {
    /** It was behind another acquisition of its client, whose last attempt has failed. */
    CALLER_AHEAD(""),
    /** A lease of its client has the lock, or for a set one of the resources. */
    HELD_LOCALLY("another lease of this client has the lock: release it earlier, or wait longer"),
    /** A set of its client with a common resource is older. */
    OLDER_SET("another set of this client, which has one of the resources too, has waited for longer: wait longer"),
    /** Its client leaves the lock to another client for some time. */
    GIVES_WAY("this client gives way to other clients that want the lock: wait longer");

    private final String advice;

    WaitCause(String advice) {
        this.advice = advice;
    }

    String advice() {
        return advice;
    }
}
