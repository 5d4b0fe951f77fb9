package dev.redlock.engine;

import dev.redlock.resp.SafeText;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.util.Objects;

/**
 * The names of keys: which names a resource may have, and what the keys beside a lock are called.
 *
 * @threading immutable
 */
public final class KeyNames {

    /** How each mark of a key beside a lock starts. */
    private static final String MARKS = ":redlock:";

    /** Follows the lock's key in the counter's key. No lock's key may contain it, so no lock's key is a counter. */
    public static final String COUNTER_MARK = MARKS + "fence";

    /** Follows the semaphore's key in the key of each slot. No lock's key may contain it, so no lock is a slot. */
    public static final String PERMIT_MARK = MARKS + "permit";

    /** Follows a resource in the key of the intention of a waiting set. No lock's key may contain it. */
    public static final String INTENTION_MARK = MARKS + "intention";

    /** Follows the counter's key in the key of the mark of a waiter. */
    static final String WAITING_MARK = ":waiting";

    /** Characters of a too long name in its error message. */
    private static final int SHOWN_LENGTH_MAX = 32;

    private KeyNames() {
    }

    /** Rejects a resource that has no valid name, or whose key could be the key of something else. */
    static void check(String prefix, String resource, int lengthBytesMax) {
        Objects.requireNonNull(resource, "resource is null: give the name of the resource to lock");
        checkEncodable("resource", resource);
        // Checked before it is encoded: a name may be very long.
        int lengthBytes = ByteBufUtil.utf8Bytes(prefix) + ByteBufUtil.utf8Bytes(resource);
        if (resource.isEmpty() || lengthBytes > lengthBytesMax) {
            throw new IllegalArgumentException(resource.isEmpty()
                    ? "resource \"\" is empty: give the name of the resource to lock"
                    : "resource \"" + SafeText.of(resource, SHOWN_LENGTH_MAX) + "\" is " + lengthBytes
                            + " bytes long with its prefix: at most " + lengthBytesMax
                            + " are allowed (RedlockContext.resourceLengthMax)");
        }
        String key = prefix + resource;
        if (key.contains(MARKS)) {
            checkMarks(key, resource);
        }
    }

    private static void checkMarks(String key, String resource) {
        checkMark(key, resource, COUNTER_MARK, "fencing counters");
        checkMark(key, resource, PERMIT_MARK, "permits");
        checkMark(key, resource, INTENTION_MARK, "intentions");
    }

    private static void checkMark(String key, String resource, String mark, String owners) {
        if (key.contains(mark)) {
            throw new IllegalArgumentException("resource \"" + SafeText.of(resource) + "\" contains \"" + mark
                    + "\" with its prefix, which only names of " + owners + " may: choose another name");
        }
    }

    /** The text between the first brace and the next closing one; null if there is none, or it is empty. */
    static String hashTagOf(String key) {
        int start = key.indexOf('{');
        int end = start < 0 ? -1 : key.indexOf('}', start);
        return end <= start + 1 ? null : key.substring(start + 1, end);
    }

    /**
     * Returns the counter's key. It depends on the complete key of the lock alone, so clients with different prefixes
     * agree on it. It starts with the lock's key, so an ACL key pattern that allows the lock allows its counter. Its
     * hash tag keeps it in the lock's cluster slot: the tag of the lock's key, or the whole key. A key with a brace but
     * without a tag has no such counter.
     */
    public static String counterName(String key) {
        return hasBrace(key) ? key + COUNTER_MARK : key + COUNTER_MARK + ":{" + key + "}";
    }

    static boolean hasBrace(String key) {
        return key.indexOf('{') >= 0 || key.indexOf('}') >= 0;
    }

    /** Rejects unpaired surrogates: the encoder replaces each by a question mark, so two names could share one key. */
    public static void checkEncodable(String what, String text) {
        int character;
        for (int i = 0; i < text.length(); i += Character.charCount(character)) {
            character = text.codePointAt(i);
            if (character >= Character.MIN_SURROGATE && character <= Character.MAX_SURROGATE) {
                throw new IllegalArgumentException(what + " has an unpaired surrogate at index " + i
                        + ", which UTF-8 cannot encode: use complete characters");
            }
        }
    }

    /** Returns the length of the name of a resource in the name of a key: that of an intention has more. */
    static int resourceLengthOf(ByteBuf name, int index, int length) {
        int left = length - INTENTION_MARK.length();
        for (int i = INTENTION_MARK.length() - 1; i >= 0; i--) {
            if (left <= 0 || name.getByte(index + left + i) != INTENTION_MARK.charAt(i)) {
                return length;
            }
        }
        return left;
    }
}
