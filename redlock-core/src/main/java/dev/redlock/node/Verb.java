package dev.redlock.node;

/**
 * What a lock asks of a node.
 *
 * @threading immutable
 */
public enum Verb {
    /** Set the key if it is absent. Only a voting node is asked. */
    ACQUIRE("acquire", true, true),
    /** Delete the key if it is ours. Every connected node is asked. */
    RELEASE("release", false, false),
    /** Renew the expiry if the key is ours. Only a voting node is asked. */
    EXTEND("extend", true, true);

    private static final Verb[] VALUES = values();

    private final String scriptName;
    private final boolean isVote;
    private final boolean hasTtl;

    Verb(final String scriptName, final boolean isVote, final boolean hasTtl) {
        this.scriptName = scriptName;
        this.isVote = isVote;
        this.hasTtl = hasTtl;
    }

    static Verb of(final int ordinal) {
        return VALUES[ordinal];
    }

    /** @return name of the script resource, without ending */
    String scriptName() {
        return scriptName;
    }

    /** @return true if the answer counts towards a quorum of holders, so that a node in quarantine must not be asked */
    boolean isVote() {
        return isVote;
    }

    /** @return true if the ttl is the second argument */
    boolean hasTtl() {
        return hasTtl;
    }
}
