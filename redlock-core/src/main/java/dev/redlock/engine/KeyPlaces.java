package dev.redlock.engine;

/**
 * A table of fixed size with one place for several keys. It answers in a few loads what a map would answer with a chain
 * of entries, for a caller that can do something else if the place of a key is in use.
 *
 * @param <E> the element at the place of a key
 * @threading event-loop-confined
 */
final class KeyPlaces<E> {

    private static final int PLACES = 1024;

    private final LockKey[] keys = new LockKey[PLACES];
    private final Object[] elements = new Object[PLACES];

    /** Puts an element at the place of its key. Returns false if the place is in use. */
    boolean tryPut(LockKey key, E element) {
        int place = placeOf(key);
        if (keys[place] != null) {
            return false;
        }
        keys[place] = key;
        elements[place] = element;
        return true;
    }

    /** Returns the element with a key; null if there is none. */
    @SuppressWarnings("unchecked")
    E get(LockKey key) {
        int place = placeOf(key);
        return key.equals(keys[place]) ? (E) elements[place] : null;
    }

    /** Removes an element, if it is at the place of its key. */
    void remove(LockKey key, E element) {
        int place = placeOf(key);
        if (elements[place] == element) {
            keys[place] = null;
            elements[place] = null;
        }
    }

    private static int placeOf(LockKey key) {
        int hash = key.hashCode() * 0x9E3779B9;
        return (hash ^ hash >>> 16) & PLACES - 1;
    }
}
