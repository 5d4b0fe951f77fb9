package dev.redlock.node.send;

import java.util.List;

/**
 * A command of a lock to a node.
 *
 * @threading immutable
 */
public enum CommandKind {
    /** Set the key if it is absent. For voting nodes only. */
    ACQUIRE("acquire", 1, Trait.GRANTS, Trait.VOTES),
    /** Delete the key if it has our token. For every connected node. */
    RELEASE("release", 0),
    /** Renew the expiry if the key has our token. For voting nodes only. */
    EXTEND("extend", 1, Trait.VOTES),
    /** Set the key if it is absent, and increment the counter. For voting nodes only. */
    ACQUIRE_FENCED("acquire_fenced", 3, Trait.GRANTS, Trait.VOTES, Trait.HAS_COUNTER),
    /** As {@link #ACQUIRE}, of a client in the queue of the waiting ones: a refusal contains its place. */
    ACQUIRE_IN_ORDER("acquire_in_order", 5, Trait.GRANTS, Trait.VOTES, Trait.NAMES_COUNTER, Trait.ENTERS_QUEUE),
    /** As {@link #ACQUIRE_FENCED}, of a client in the queue of the waiting ones. */
    ACQUIRE_FENCED_IN_ORDER("acquire_fenced_in_order", 6, Trait.GRANTS, Trait.VOTES, Trait.HAS_COUNTER,
            Trait.ENTERS_QUEUE),
    /** Raise the counter if the key has our token. For voting nodes only. */
    RAISE("raise", 2, Trait.VOTES, Trait.HAS_COUNTER),
    /** Raise the counter, and delete the key if it has our token. For every connected node. */
    RELEASE_FENCED("release_fenced", 2, Trait.HAS_COUNTER),
    /** Delete each of many keys if it has its token. For every connected node. */
    RELEASE_MANY("release_many", 0),
    /** Raise each of many counters, and delete each key if it has its token. For every connected node. */
    RELEASE_MANY_FENCED("release_many_fenced", 0, Trait.HAS_COUNTER),
    /** Renew the expiry of each of many keys that has its token. For voting nodes only. */
    EXTEND_MANY("extend_many", 0, Trait.VOTES),
    /** Set each of many keys, or none if one of them exists. For voting nodes only. */
    ACQUIRE_MANY(CommandEncoding.MSETEX, Trait.GRANTS, Trait.VOTES),
    /** Bring the expiry forward if the key has our token. For every connected node. */
    SHORTEN("shorten", 1, Trait.IS_OPTIONAL),
    /** Read whether the key has our token. For every connected node. */
    CHECK("check", 0, Trait.REGISTERS),
    /** Read the remaining ttl of the holder's key with {@code PTTL}, not by script. For every connected node. */
    REMAINING_TTL(CommandEncoding.PTTL, Trait.REGISTERS, Trait.IS_OPTIONAL),
    /** Set the mark of a waiter if it is absent: a key that is no lock. For every connected node. */
    MARK(CommandEncoding.PLAIN_SET, Trait.IS_OPTIONAL),
    /** Remove the client from the queue. For every connected node. */
    LEAVE_QUEUE("leave_queue", 2, Trait.NAMES_COUNTER, Trait.IS_OPTIONAL),
    /** Read the place of the client in the queue, from 0, with {@code ZRANK}, not by script: -1 without an entry. */
    PLACE(CommandEncoding.ZRANK, Trait.NAMES_COUNTER, Trait.IS_OPTIONAL),
    /** Read the length of the queue with {@code ZCARD}, not by script. For every connected node. */
    WAITING(CommandEncoding.ZCARD, Trait.NAMES_COUNTER, Trait.IS_OPTIONAL),
    /** Read the type of the key, or of one of a set, with {@code TYPE}, not by script. For every connected node. */
    KEY_TYPE(CommandEncoding.TYPE, Trait.IS_OPTIONAL),
    /** Create the key that {@link #LEAVE_TRACE} and an entry in the queue change. For every connected node. */
    CREATE_TRACE(CommandEncoding.SET_TRACE, Trait.NAMES_COUNTER, Trait.IS_OPTIONAL),
    /** Read that key: the node pushes its next change. For every connected node. */
    WATCH_TRACES(CommandEncoding.GET, Trait.NAMES_COUNTER, Trait.REGISTERS, Trait.IS_OPTIONAL),
    /** Change the key of traces, if there is one: a client that watches it gets a push. For every connected node. */
    LEAVE_TRACE(CommandEncoding.PEXPIRE_TRACE, Trait.NAMES_COUNTER, Trait.IS_OPTIONAL);

    /**
     * What a command is, beside its name.
     *
     * @threading immutable
     */
    private enum Trait {
        /** A positive reply is a grant. It may register for a push too: it reads the key of the lock. */
        GRANTS,
        /** The reply counts towards a quorum of holders. */
        VOTES,
        /** The counter is the second key. */
        HAS_COUNTER,
        /** The command names the key of the queue or of traces, which is beside the counter. */
        NAMES_COUNTER,
        /** It reads the key of the lock or the traces: the read registers for a push if the client asks. */
        REGISTERS,
        /** A refused client enters the queue. A read of the script would register the key of the queue for a push. */
        ENTERS_QUEUE,
        /** An error says nothing about locks: the client works without the reply. */
        IS_OPTIONAL
    }

    /** By ordinal. */
    static final CommandKind[] VALUES = values();

    /** Name of the script resource, without ending; null if there is none. */
    final String scriptName;
    /** Its encoding for a plain lock, unless {@link ServerCapabilities} has another one. */
    final CommandEncoding encoding;
    /** Whether a positive reply is a grant. */
    public final boolean isAcquire;
    /** Whether the reply counts towards a quorum of holders, so that a node in quarantine must not get it. */
    final boolean isVote;
    /** Whether the counter is the second key. */
    final boolean hasCounter;
    /** Whether the command names the counter, or a key that is beside it. */
    final boolean isCounterNamed;
    /** Whether the command may read the key of the lock: the read registers for a push if the client asks. */
    final boolean mayRegister;
    /** The number of arguments after the token. */
    final int argumentCount;

    private final boolean entersQueue;
    private final boolean isOptional;

    CommandKind(CommandEncoding encoding, Trait... traits) {
        this(encoding, null, 0, traits);
    }

    CommandKind(String scriptName, int argumentCount, Trait... traits) {
        this(CommandEncoding.SCRIPT, scriptName, argumentCount, traits);
    }

    CommandKind(CommandEncoding encoding, String scriptName, int argumentCount, Trait... traits) {
        List<Trait> all = List.of(traits);
        this.encoding = encoding;
        this.scriptName = scriptName;
        this.isAcquire = all.contains(Trait.GRANTS);
        this.isVote = all.contains(Trait.VOTES);
        this.hasCounter = all.contains(Trait.HAS_COUNTER);
        this.isCounterNamed = hasCounter || all.contains(Trait.NAMES_COUNTER);
        this.entersQueue = all.contains(Trait.ENTERS_QUEUE);
        this.mayRegister = isAcquire && !entersQueue || all.contains(Trait.REGISTERS);
        this.isOptional = all.contains(Trait.IS_OPTIONAL);
        this.argumentCount = argumentCount;
    }

    /** @return true if an error says nothing about locks: the client works without the reply */
    boolean isOptional() {
        return isOptional;
    }

    /** @return true if a refused client enters the queue of the waiting clients */
    public boolean entersQueue() {
        return entersQueue;
    }

    /** @return true if there is a script for it */
    boolean isScript() {
        return scriptName != null;
    }

    /** @return the command for one key, if this one is for many; else this one */
    CommandKind single() {
        return switch (this) {
            case RELEASE_MANY -> RELEASE;
            case RELEASE_MANY_FENCED -> RELEASE_FENCED;
            case EXTEND_MANY -> EXTEND;
            case ACQUIRE_MANY -> ACQUIRE;
            default -> this;
        };
    }

    /** @return true if a positive reply is a deleted key */
    public boolean isRelease() {
        return this == RELEASE || this == RELEASE_FENCED || this == RELEASE_MANY || this == RELEASE_MANY_FENCED;
    }
}
