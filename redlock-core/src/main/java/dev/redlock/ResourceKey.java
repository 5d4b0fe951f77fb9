package dev.redlock;

import dev.redlock.engine.key.LockKey;

/**
 * The encoded name of a resource, or the names of a set. Make one with {@link Redlock#key} or {@link Redlock#keyOfAll},
 * and keep it if you lock the same resource often: passing it instead of a string saves the encoding and its
 * allocation.
 *
 * @threading immutable
 */
public final class ResourceKey {

    private final LockKey lockKey;

    ResourceKey(LockKey lockKey) {
        this.lockKey = lockKey;
    }

    LockKey lockKey() {
        return lockKey;
    }

    /** @return the resource as it was named, without the prefix; those of a set in brackets */
    public String resource() {
        return lockKey.resource();
    }

    @Override
    public boolean equals(Object o) {
        return this == o || o instanceof ResourceKey other && lockKey.equals(other.lockKey);
    }

    @Override
    public int hashCode() {
        return lockKey.hashCode();
    }

    /** The resource as text for people: escaped, and cut where it is long; {@link #resource} is the name itself. */
    @Override
    public String toString() {
        return lockKey.toString();
    }
}
