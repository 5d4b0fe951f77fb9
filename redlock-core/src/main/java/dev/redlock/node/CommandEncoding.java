package dev.redlock.node;

/**
 * How a verb is put to a node: as a script, which every node runs, or as a command of the node's own, which costs it
 * less.
 *
 * @threading immutable
 */
enum CommandEncoding {
    /** {@code EVALSHA} of the verb's script; one integer comes back. */
    SCRIPT(false),
    /** Acquire as {@code SET key token NX PX ttl}; a refusal does not tell how long the holder's key will stand. */
    PLAIN_SET(true),
    /** What is left of a key's expiry as {@code PTTL key}: -2 without a key, -1 without an expiry. */
    PTTL(false),
    /** Release as {@code DELEX key IFEQ token}: Redis 8.4 and later. */
    DELEX(false),
    /** Release as {@code DELIFEQ key token}: Valkey 9.0 and later. */
    DELIFEQ(false),
    /** Extend as {@code SET key token IFEQ token PX ttl}: Redis 8.4, Valkey 8.1 and later. A missing key stays so. */
    SET_IFEQ(true);

    private static final CommandEncoding[] VALUES = values();

    private final boolean isAnsweredByOk;

    CommandEncoding(final boolean isAnsweredByOk) {
        this.isAnsweredByOk = isAnsweredByOk;
    }

    static CommandEncoding of(final int ordinal) {
        return VALUES[ordinal];
    }

    /** Whether only some servers have the command, so that a script does the same on the others. */
    boolean isOptional() {
        return this == DELEX || this == DELIFEQ || this == SET_IFEQ;
    }

    /** Whether it replaces the expiry of a key of ours, also by an earlier one. The scripts never do. */
    boolean mayShorten() {
        return this == SET_IFEQ;
    }

    /** Whether yes is {@code +OK} and no is null; otherwise the answer is an integer. */
    boolean isAnsweredByOk() {
        return isAnsweredByOk;
    }
}
