package dev.redlock.node;

/**
 * A command of a lock to a node.
 *
 * @threading immutable
 */
public enum CommandKind {
    /** Set the key if it is absent. For voting nodes only. */
    ACQUIRE("acquire", true, false, 1),
    /** Delete the key if it has our token. For every connected node. */
    RELEASE("release", false, false, 0),
    /** Renew the expiry if the key has our token. For voting nodes only. */
    EXTEND("extend", true, false, 1),
    /** Set the key if it is absent, and increment the counter. For voting nodes only. */
    ACQUIRE_FENCED("acquire_fenced", true, true, 3),
    /** As {@link #ACQUIRE}, of a client that waits: a refusal contains its place among the waiting clients. */
    ACQUIRE_WITH_TICKET("acquire_with_ticket", true, false, 3),
    /** As {@link #ACQUIRE_FENCED}, of a client that waits. */
    ACQUIRE_FENCED_WITH_TICKET("acquire_fenced_with_ticket", true, true, 4),
    /** Raise the counter if the key has our token. For voting nodes only. */
    RAISE("raise", true, true, 2),
    /** Raise the counter, and delete the key if it has our token. For every connected node. */
    RELEASE_FENCED("release_fenced", false, true, 2),
    /** Delete each of many keys if it has its token. For every connected node. */
    RELEASE_MANY("release_many", false, false, 0),
    /** Raise each of many counters, and delete each key if it has its token. For every connected node. */
    RELEASE_MANY_FENCED("release_many_fenced", false, true, 0),
    /** Renew the expiry of each of many keys that has its token. For voting nodes only. */
    EXTEND_MANY("extend_many", true, false, 0),
    /** Bring the expiry forward if the key has our token. For every connected node. */
    SHORTEN("shorten", false, false, 1),
    /** Read whether the key has our token. For every connected node. */
    CHECK("check", false, false, 0),
    /** Read the remaining ttl of the holder's key with {@code PTTL}, not by script. For every connected node. */
    REMAINING_TTL(CommandEncoding.PTTL),
    /** Read the count of tickets with {@code GET}, not by script: 0 if there is none. For every connected node. */
    TICKETS(CommandEncoding.GET),
    /** Read the type of the key, or of one of a set, with {@code TYPE}, not by script. For every connected node. */
    KEY_TYPE(CommandEncoding.TYPE),
    /** Create the key that {@link #LEAVE_TRACE} changes. For every connected node. */
    CREATE_TRACE(CommandEncoding.SET_TRACE),
    /** As {@link #TICKETS}, or read the key of traces: the node pushes its next change. For every connected node. */
    WATCH_TICKETS(CommandEncoding.GET),
    /** Change the key of traces, if there is one: a client that watches it gets a push. For every connected node. */
    LEAVE_TRACE(CommandEncoding.PEXPIRE_TRACE);

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
    /** Whether the command names the counter, or the key of the tickets that is beside it. */
    final boolean isCounterNamed;
    /** Whether the command may read the key of the lock: the read registers for a push if the client asks. */
    final boolean mayRegister;
    /** The number of arguments after the token. */
    final int argumentCount;

    CommandKind(CommandEncoding encoding) {
        this(encoding, null, false, false, 0);
    }

    CommandKind(String scriptName, boolean isVote, boolean hasCounter, int argumentCount) {
        this(CommandEncoding.SCRIPT, scriptName, isVote, hasCounter, argumentCount);
    }

    CommandKind(CommandEncoding encoding, String scriptName, boolean isVote, boolean hasCounter, int argumentCount) {
        this.encoding = encoding;
        this.scriptName = scriptName;
        this.isAcquire = name().startsWith("ACQUIRE");
        this.isVote = isVote;
        this.hasCounter = hasCounter;
        this.isCounterNamed = hasCounter || name().endsWith("_WITH_TICKET") || isBesideCounter();
        this.mayRegister = isAcquire || name().equals("REMAINING_TTL") || name().equals("CHECK")
                || name().equals("WATCH_TICKETS");
        this.argumentCount = argumentCount;
    }

    private boolean isBesideCounter() {
        return name().endsWith("TICKETS") || name().endsWith("TRACE");
    }

    /** @return true if an error says nothing about locks: the client works without the reply */
    boolean isOptional() {
        return this == REMAINING_TTL || this == SHORTEN || this == KEY_TYPE || isBesideCounter();
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
            default -> this;
        };
    }

    /** @return true if a positive reply is a deleted key */
    public boolean isRelease() {
        return this == RELEASE || this == RELEASE_FENCED || this == RELEASE_MANY || this == RELEASE_MANY_FENCED;
    }
}
