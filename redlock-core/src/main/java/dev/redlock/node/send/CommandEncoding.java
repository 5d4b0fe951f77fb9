package dev.redlock.node.send;

/**
 * The form of a command on the wire: a script, which every node can run, or a native command, which costs the node
 * less.
 *
 * @threading immutable
 */
enum CommandEncoding {
    /** {@code EVALSHA} of the script; the reply is an integer. */
    SCRIPT(Reply.INTEGER),
    /** Acquire as {@code SET key token NX PX ttl}; a refusal does not include the remaining ttl. */
    PLAIN_SET(Reply.OK),
    /** Remaining ttl as {@code PTTL key}: -2 without a key, -1 without an expiry. */
    PTTL(Reply.INTEGER),
    /** Traces as {@code GET counter:trace}: a string, or null. */
    GET(Reply.TEXT),
    /** Place of the client as {@code ZRANK counter:queue client}: from 0, or null. */
    ZRANK(Reply.PLACE),
    /** Number of the waiting clients as {@code ZCARD counter:queue}. */
    ZCARD(Reply.INTEGER),
    /** Type of a key as {@code TYPE key}: a {@link KeyType} as a simple string. */
    TYPE(Reply.TEXT),
    /** Release as {@code DELEX key IFEQ token}: Redis 8.4 and later. */
    DELEX(Reply.INTEGER),
    /** Release as {@code DELIFEQ key token}: Valkey 9.0 and later. */
    DELIFEQ(Reply.INTEGER),
    /** Extend as {@code SET key token IFEQ token PX ttl}: Redis 8.4, Valkey 8.1 and later. Sets no missing key. */
    SET_IFEQ(Reply.OK),
    /**
     * Acquire of a set as {@code MSETEX K key1 token ... keyK token NX PX ttl}: Redis 8.4, Valkey 9.1 and later. The
     * reply is 1 or 0; a refusal does not include the remaining ttl.
     */
    MSETEX(Reply.INTEGER),
    /** A key for traces as {@code SET counter:trace token PX ttl}. */
    SET_TRACE(Reply.OK),
    /** A trace as {@code PEXPIRE counter:trace ttl}: 0 if there is no key for it. */
    PEXPIRE_TRACE(Reply.INTEGER);

    /** By ordinal. */
    static final CommandEncoding[] VALUES = values();

    /**
     * The reply of a node without an error.
     *
     * @threading immutable
     */
    enum Reply {
        /** {@code +OK} or null. */
        OK,
        /** An integer. */
        INTEGER,
        /** An integer, or null, which is -1. */
        PLACE,
        /** A string, which is read as a number, or null. */
        TEXT
    }

    final Reply reply;

    CommandEncoding(Reply reply) {
        this.reply = reply;
    }

    /** Whether only some servers have the command; the others get the script. */
    boolean isOptional() {
        return this == DELEX || this == DELIFEQ || this == SET_IFEQ || this == MSETEX;
    }

    /** Whether it may set an earlier expiry than the key has. The scripts never do. */
    boolean mayShorten() {
        return this == SET_IFEQ;
    }
}
