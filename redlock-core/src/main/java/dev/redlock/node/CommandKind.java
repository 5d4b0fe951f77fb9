package dev.redlock.node;

/**
 * What a lock asks of a node.
 *
 * @threading immutable
 */
public enum CommandKind {
    /** Set the key if it is absent. Only a voting node is asked. */
    ACQUIRE("acquire", true, false, 1),
    /** Delete the key if it is ours. Every connected node is asked. */
    RELEASE("release", false, false, 0),
    /** Renew the expiry if the key is ours. Only a voting node is asked. */
    EXTEND("extend", true, false, 1),
    /** Set the key if it is absent, and count the grant. Only a voting node is asked. */
    ACQUIRE_FENCED("acquire_fenced", true, true, 2),
    /** Raise the counter if the key is ours. Only a voting node is asked. */
    RAISE("raise", true, true, 2),
    /** Raise the counter, and delete the key if it is ours. Every connected node is asked. */
    RELEASE_FENCED("release_fenced", false, true, 2),
    /** Delete each of many keys if it is ours. Every connected node is asked. */
    RELEASE_MANY("release_many", false, false, 0),
    /** Raise each of many counters, and delete each key if it is ours. Every connected node is asked. */
    RELEASE_MANY_FENCED("release_many_fenced", false, true, 0),
    /** How long the holder's key will stand. No script: {@code PTTL} says it. Every connected node is asked. */
    REMAINING_TTL(null, false, false, 0);

    private static final CommandKind[] VALUES = values();

    private final String scriptName;
    private final boolean isVote;
    private final boolean hasCounter;
    private final int argumentCount;

    CommandKind(final String scriptName, final boolean isVote, final boolean hasCounter, final int argumentCount) {
        this.scriptName = scriptName;
        this.isVote = isVote;
        this.hasCounter = hasCounter;
        this.argumentCount = argumentCount;
    }

    static CommandKind of(final int ordinal) {
        return VALUES[ordinal];
    }

    /** @return true if it can be put to a node as a script */
    boolean isScript() {
        return scriptName != null;
    }

    /** @return name of the script resource, without ending; null if there is none */
    String scriptName() {
        return scriptName;
    }

    /** @return true if the answer counts towards a quorum of holders, so that a node in quarantine must not be asked */
    boolean isVote() {
        return isVote;
    }

    /** @return true if the counter is the second key */
    boolean hasCounter() {
        return hasCounter;
    }

    /** @return arguments behind the token */
    int argumentCount() {
        return argumentCount;
    }

    /** @return true if a positive answer is a grant */
    boolean isAcquire() {
        return this == ACQUIRE || this == ACQUIRE_FENCED;
    }
}
