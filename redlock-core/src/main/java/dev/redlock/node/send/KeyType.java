package dev.redlock.node.send;

import java.util.Locale;

/**
 * The type of a key, as {@code TYPE} replies it.
 *
 * @threading immutable
 */
public enum KeyType {
    /** There is no key. */
    NONE,
    /** The key of a lock. */
    STRING,
    /** The key of a lock that readers hold. */
    ZSET,
    /** A list of another program. */
    LIST,
    /** A set of another program. */
    SET,
    /** A hash of another program. */
    HASH,
    /** A stream of another program. */
    STREAM,
    /** The type of a module of the server, or an unknown one. */
    OTHER;

    private static final KeyType[] VALUES = values();

    /**
     * The type with an ordinal, as the reply to {@link CommandKind#KEY_TYPE} gives it.
     *
     * @param ordinal 0 to the number of types - 1
     */
    public static KeyType of(int ordinal) {
        return VALUES[ordinal];
    }

    static KeyType named(String name) {
        for (KeyType type : VALUES) {
            if (type.text().equals(name)) {
                return type;
            }
        }
        return OTHER;
    }

    /** @return whether no lock has keys of this type */
    public boolean isForeign() {
        return ordinal() > ZSET.ordinal();
    }

    /** @return its name in Redis */
    public String text() {
        return name().toLowerCase(Locale.ROOT);
    }
}
