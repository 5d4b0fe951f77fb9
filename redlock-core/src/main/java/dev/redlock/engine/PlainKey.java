package dev.redlock.engine;

import dev.redlock.node.LockKind;

/**
 * The key of a resource, and of a plain lock on it. Marks of waiters and permits have such keys too.
 *
 * @threading immutable
 */
public class PlainKey extends LockKey {

    PlainKey(KeyText text, int hash, int orderHash) {
        super(text, LockKind.PLAIN, hash, orderHash);
    }

    /** A plain key with a text, which orders the nodes by its own name or by another one. */
    static PlainKey plain(KeyText text) {
        int hash = hashOf(text);
        return new PlainKey(text, hash, hash);
    }

    static int hashOf(KeyText text) {
        int hash = 1;
        byte[] bulk = text.bulk;
        int start = text.nameStart();
        for (int i = 0; i < text.nameLength; i++) {
            hash = 31 * hash + bulk[start + i];
        }
        return hash;
    }

    /**
     * Encodes the keys of a resource.
     *
     * @param  prefix                   prefix of every key of the client
     * @param  resource                 name of the resource
     * @param  lengthBytesMax           limit of both together, bytes
     * @return                          the key
     * @throws IllegalArgumentException if it is empty or too long, is not valid UTF-16, or names a fencing counter
     */
    public static LockKey of(String prefix, String resource, int lengthBytesMax) {
        String key = KeyText.checkedKey(prefix, resource, lengthBytesMax);
        return plain(KeyText.of(prefix, resource, KeyText.counterName(key)));
    }
}
