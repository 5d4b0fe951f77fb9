package dev.redlock.node.send;

import java.util.List;

/**
 * A kind of lock: how its keys look on a node, so which scripts run the {@link CommandKind commands}. The replies mean
 * the same for each kind. What a new kind has to provide is in the essay of {@code dev.redlock.engine}.
 *
 * @threading immutable
 */
public enum LockKind {
    /** One key with a token, by the published pattern. */
    PLAIN("", Trait.IS_ONE_KEY),
    /** Several keys with one token: a node takes all or none. */
    SET("_set", Trait.RESERVES),
    /** One key with an entry for each reader, which has its own expiry. */
    READ("_read", Trait.IS_SHARED, Trait.HAS_READERS),
    /** The key of a plain lock, which readers exclude too. A waiting writer keeps new readers away. */
    WRITE("_write", Trait.RESERVES, Trait.HAS_READERS),
    /** A permit of a semaphore, each of which is a plain lock. Its only script looks for a free permit. */
    PERMIT("", Trait.IS_ONE_KEY, Trait.IS_SHARED);

    /**
     * What a kind is, beside its name.
     *
     * @threading immutable
     */
    private enum Trait {
        /** A lease is one key on a node, which only locks of this kind use. */
        IS_ONE_KEY,
        /** A lease does not hold up the next one of the kind. */
        IS_SHARED,
        /** A refused waiter leaves its name on nodes, and others let it pass. */
        RESERVES,
        /** Readers may be in the key, so a command needs more rights, and one that is refused may change the key. */
        HAS_READERS
    }

    /** Whether a lease is one key on a node, which only locks of this kind use. */
    public final boolean isOneKey;
    /** Whether a lease does not hold up the next one of the kind. */
    public final boolean isShared;
    /** Whether a refused waiter leaves its name on nodes. */
    public final boolean isReserving;
    /** Whether readers may be in the key: a command needs more rights, and one that is refused may change the key. */
    public final boolean hasReaders;

    private final String suffix;

    LockKind(String suffix, Trait... traits) {
        List<Trait> all = List.of(traits);
        this.suffix = suffix;
        this.isOneKey = all.contains(Trait.IS_ONE_KEY);
        this.isShared = all.contains(Trait.IS_SHARED);
        this.isReserving = all.contains(Trait.RESERVES);
        this.hasReaders = all.contains(Trait.HAS_READERS);
    }

    /** @return true if a script reads the remaining ttl, and not {@code PTTL} */
    public boolean isTtlReadByScript() {
        return this == SET || this == PERMIT;
    }

    /** The name of the script resource of a command, without ending; null if there is none. */
    String scriptName(CommandKind command) {
        return switch (this) {
            case PLAIN -> command.scriptName;
            case SET -> switch (command) {
                case RELEASE_MANY, RELEASE_MANY_FENCED, EXTEND_MANY, ACQUIRE_MANY, ACQUIRE_IN_ORDER,
                        ACQUIRE_FENCED_IN_ORDER, MARK, LEAVE_QUEUE, PLACE, WAITING, KEY_TYPE, CREATE_TRACE,
                        WATCH_TRACES, LEAVE_TRACE ->
                    null;
                case REMAINING_TTL -> "remaining_ttl" + suffix;
                case SHORTEN -> command.scriptName;
                default -> command.scriptName + suffix;
            };
            case READ -> switch (command) {
                case ACQUIRE, EXTEND, SHORTEN, CHECK, RELEASE -> command.scriptName + suffix;
                default -> null;
            };
            case WRITE -> switch (command) {
                case ACQUIRE, ACQUIRE_FENCED, RELEASE, RELEASE_FENCED -> command.scriptName + suffix;
                case EXTEND, SHORTEN, RAISE, CHECK -> command.scriptName;
                default -> null;
            };
            case PERMIT -> command == CommandKind.REMAINING_TTL ? "find_permit" : null;
        };
    }
}
