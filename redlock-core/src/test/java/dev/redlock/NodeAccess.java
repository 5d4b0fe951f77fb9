package dev.redlock;

/** A look behind the lock's back at one node, as any other client has it. Blocking. */
public interface NodeAccess {

    /** @return the value as bytes, one char each (ISO 8859-1); null if there is no such key */
    String get(String key);

    /** {@code SET key value NX PX ttlMs}, or without expiry if ttlMs is -1; true if it was set. */
    boolean setIfAbsent(String key, String value, long ttlMs);

    /** {@code DEL key}; true if it was there. */
    boolean delete(String key);

    /** {@code PTTL key}: milliseconds, -1 without expiry, -2 if there is no such key. */
    long pttl(String key);
}
