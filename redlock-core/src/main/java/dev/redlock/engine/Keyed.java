package dev.redlock.engine;

/**
 * An entry of a {@link KeyedMap}.
 *
 * @threading event-loop-confined
 */
abstract class Keyed {

    LockKey key;
    /** The next entry in the bucket of the map. */
    Keyed nextInBucket;
}
