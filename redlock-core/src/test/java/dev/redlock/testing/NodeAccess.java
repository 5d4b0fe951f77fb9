package dev.redlock.testing;

/** Access to one node without the client, as for any other Redis client. Blocking. */
public interface NodeAccess {

    /** @return the value as bytes, one char each (ISO 8859-1); null for a missing key */
    String get(String key);

    /** {@code SET key value NX PX ttlMs}, or without expiry if ttlMs is -1; returns true if it was set. */
    boolean setIfAbsent(String key, String value, long ttlMs);

    /** Sets a hash with one field, which expires after ttlMs. */
    void setHash(String key, long ttlMs);

    /** {@code DEL key}; returns true if the key existed. */
    boolean delete(String key);

    /** {@code PTTL key}: milliseconds, -1 without expiry, -2 for a missing key. */
    long pttl(String key);
}
