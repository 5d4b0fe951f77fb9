package dev.redlock.engine;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collection;

/**
 * A key and its counter as they go to a node: each a complete RESP bulk string.
 *
 * @threading immutable
 */
final class KeyText {

    private static final int CRLF_BYTES = 2;

    /** Of every key of the client. */
    final String prefix;
    /** The name of the resource, without the prefix. */
    final String resource;
    /** The key. */
    final byte[] bulk;
    /** The key of the fencing counter; null without one. */
    final byte[] counterBulk;
    /** The length of the name with its prefix, bytes; of a set, that of all names. */
    final int nameLength;

    KeyText(String prefix, String resource, byte[] bulk, byte[] counterBulk, int nameLength) {
        this.prefix = prefix;
        this.resource = resource;
        this.bulk = bulk;
        this.counterBulk = counterBulk;
        this.nameLength = nameLength;
    }

    /** The text of a name; an empty name of a counter means none. */
    static KeyText of(String prefix, String resource, String counterName) {
        byte[] name = (prefix + resource).getBytes(StandardCharsets.UTF_8);
        return new KeyText(prefix, resource, bulkOf(name), bulkOf(counterName.getBytes(StandardCharsets.UTF_8)),
                name.length);
    }

    /** The texts of keys, one after another. */
    static KeyText ofAll(LockKey[] keys, String resource, boolean hasCounters) {
        byte[] counters = hasCounters
                ? concatenated(Arrays.stream(keys).map(LockKey::counterBulk).toList())
                : null;
        return new KeyText(keys[0].prefix(), resource,
                concatenated(Arrays.stream(keys).map(LockKey::bulk).toList()), counters,
                Arrays.stream(keys).mapToInt(LockKey::nameLength).sum());
    }

    private static byte[] concatenated(Collection<byte[]> parts) {
        byte[] all = new byte[parts.stream().mapToInt(part -> part.length).sum()];
        int length = 0;
        for (byte[] part : parts) {
            System.arraycopy(part, 0, all, length, part.length);
            length += part.length;
        }
        return all;
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
}
