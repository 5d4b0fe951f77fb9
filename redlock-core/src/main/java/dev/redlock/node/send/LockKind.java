package dev.redlock.node.send;

/**
 * A kind of lock: how its keys look on a node, so which scripts run the {@link CommandKind commands}. The replies mean
 * the same for each kind.
 *
 * @threading immutable
 */
public enum LockKind {
    /** One key with a token, by the published pattern. */
    PLAIN(""),
    /** Several keys with one token: a node takes all or none. */
    SET("_set"),
    /** One key with an entry for each reader, which has its own expiry. */
    READ("_read"),
    /** The key of a plain lock, which readers exclude too. A waiting writer keeps new readers away. */
    WRITE("_write"),
    /** A permit of a semaphore, each of which is a plain lock. Its only script looks for a free permit. */
    PERMIT("");

    private final String suffix;

    LockKind(String suffix) {
        this.suffix = suffix;
    }

    /** The name of the script resource of a command, without ending; null if there is none. */
    String scriptName(CommandKind command) {
        return switch (this) {
            case PLAIN -> command.scriptName;
            case SET -> switch (command) {
                case RELEASE_MANY, RELEASE_MANY_FENCED, EXTEND_MANY, ACQUIRE_WITH_TICKET, ACQUIRE_FENCED_WITH_TICKET,
                        TICKETS, KEY_TYPE, CREATE_TRACE, WATCH_TICKETS, LEAVE_TRACE ->
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
