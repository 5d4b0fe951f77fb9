package dev.redlock.engine.key;

import dev.redlock.resp.SafeText;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;

/**
 * The text of a key and of its counter as they go to a node, each a complete RESP bulk string; which names a resource
 * may have, and what the keys beside a lock are called.
 *
 * @threading immutable
 */
public final class KeyText {

    /** How each mark of a key beside a lock starts. */
    private static final String MARKS = ":redlock:";

    /** Follows the lock's key in the counter's key. No lock's key may contain it, so no lock's key is a counter. */
    public static final String COUNTER_MARK = MARKS + "fence";

    /** Follows the counter's key in the key of the traces. */
    public static final String TRACE_MARK = ":trace";

    /** Follows the semaphore's key in the key of each permit. No lock's key may contain it, so no lock is a permit. */
    public static final String PERMIT_MARK = MARKS + "permit";

    /** Follows a resource in the key of the reservation of a waiting set. No lock's key may contain it. */
    public static final String RESERVATION_MARK = MARKS + "reservation";

    /** Follows the counter's key in the key of the mark of a waiter. */
    static final String WAITING_MARK = ":waiting";

    /** Characters of a too long name in its error message. */
    private static final int SHOWN_LENGTH_MAX = 32;
    private static final int CRLF_BYTES = 2;

    /** Every key of the client has it. */
    final String prefix;
    /** The name of the resource, without the prefix. */
    final String resource;
    /** The key. */
    final byte[] bulk;
    /** The key of the fencing counter; null without one. */
    final byte[] counterBulk;
    /** The length of the name with its prefix, bytes; of a set, that of all names. */
    public final int nameLength;

    KeyText(String prefix, String resource, byte[] bulk, byte[] counterBulk, int nameLength) {
        this.prefix = prefix;
        this.resource = resource;
        this.bulk = bulk;
        this.counterBulk = counterBulk;
        this.nameLength = nameLength;
    }

    /**
     * The text of the key of a resource and of its counter.
     *
     * @param  lengthBytesMax           limit of the name with its prefix, bytes
     * @throws IllegalArgumentException if the name is empty or too long, is not valid UTF-16, or is that of another key
     */
    public static KeyText ofResource(String prefix, String resource, int lengthBytesMax) {
        String key = checkedKey(prefix, resource, lengthBytesMax);
        return of(prefix, resource, counterName(key));
    }

    /** The text of a name; an empty name of a counter means none. */
    static KeyText of(String prefix, String resource, String counterName) {
        byte[] name = (prefix + resource).getBytes(StandardCharsets.UTF_8);
        return new KeyText(prefix, resource, bulkOf(name), bulkOf(counterName.getBytes(StandardCharsets.UTF_8)),
                name.length);
    }

    private static byte[] bulkOf(byte[] name) {
        byte[] head = ("$" + name.length + "\r\n").getBytes(StandardCharsets.US_ASCII);
        byte[] bulk = Arrays.copyOf(head, head.length + name.length + CRLF_BYTES);
        System.arraycopy(name, 0, bulk, head.length, name.length);
        bulk[bulk.length - 2] = '\r';
        bulk[bulk.length - 1] = '\n';
        return bulk;
    }

    /** Where the name starts in the bulk string of one key. */
    int nameStart() {
        return bulk.length - CRLF_BYTES - nameLength;
    }

    /** A hash of the name of one key, the same for all clients. */
    int hash() {
        int hash = 1;
        int start = nameStart();
        for (int i = 0; i < nameLength; i++) {
            hash = 31 * hash + bulk[start + i];
        }
        return hash;
    }

    /** The {@link #hash} of a name. */
    static int hashOf(ByteBuf name, int index, int length) {
        int hash = 1;
        for (int i = 0; i < length; i++) {
            hash = 31 * hash + name.getByte(index + i);
        }
        return hash;
    }

    /** Returns the key of a resource; rejects one without a valid name, or whose key could be of something else. */
    private static String checkedKey(String prefix, String resource, int lengthBytesMax) {
        Objects.requireNonNull(resource, "resource is null: give the name of the resource to lock");
        checkEncodable("resource", resource);
        // Checked before it is encoded: a name may be very long.
        int lengthBytes = ByteBufUtil.utf8Bytes(prefix) + ByteBufUtil.utf8Bytes(resource);
        if (resource.isEmpty() || lengthBytes > lengthBytesMax) {
            throw new IllegalArgumentException(lengthProblem(resource, lengthBytes, lengthBytesMax));
        }
        String key = prefix + resource;
        if (key.contains(MARKS)) {
            checkMarks(key, resource);
        }
        return key;
    }

    private static String lengthProblem(String resource, int lengthBytes, int lengthBytesMax) {
        return resource.isEmpty()
                ? "resource \"\" is empty: give the name of the resource to lock"
                : "resource \"" + SafeText.of(resource, SHOWN_LENGTH_MAX) + "\" is " + lengthBytes
                        + " bytes long with its prefix: at most " + lengthBytesMax
                        + " are allowed (RedlockContext.resourceLengthMax)";
    }

    private static void checkMarks(String key, String resource) {
        checkMark(key, resource, COUNTER_MARK, "fencing counters");
        checkMark(key, resource, PERMIT_MARK, "permits");
        checkMark(key, resource, RESERVATION_MARK, "reservations");
    }

    private static void checkMark(String key, String resource, String mark, String owners) {
        if (key.contains(mark)) {
            throw new IllegalArgumentException("resource \"" + SafeText.of(resource) + "\" contains \"" + mark
                    + "\" with its prefix, which only names of " + owners + " may: choose another name");
        }
    }

    /**
     * Returns the counter's key. It depends on the complete key of the lock alone, so clients with different prefixes
     * agree on it. It starts with the lock's key, so an ACL key pattern that allows the lock allows its counter. Its
     * hash tag keeps it in the lock's cluster slot: the tag of the lock's key, or the whole key. A key with a brace but
     * without a tag has no such counter.
     */
    public static String counterName(String key) {
        return beside(key, COUNTER_MARK);
    }

    /** Returns the key that refused clients change, if a client may retain the lock. */
    public static String traceName(String key) {
        return counterName(key) + TRACE_MARK;
    }

    /** Returns the key of a permit, which a semaphore has as a lock has its counter. */
    public static String permitName(String key, int number) {
        return beside(key, PERMIT_MARK) + ":" + number;
    }

    private static String beside(String key, String mark) {
        return hasBrace(key) ? key + mark : key + mark + ":{" + key + "}";
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
}
