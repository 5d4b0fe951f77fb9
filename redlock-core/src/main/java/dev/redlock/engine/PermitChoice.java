package dev.redlock.engine;

/**
 * Which permit of its semaphore an acquisition asks for, and what it knows of the others.
 *
 * @threading event-loop-confined
 */
final class PermitChoice {

    /** The permit that an attempt behind the head of the queue asks for. */
    PermitKey.Permit permit;
    /** The permit of the current attempt comes from a push. */
    boolean isPushed;
    /** The last search has found no free permit, so the node pushes the next change of each permit. */
    boolean hasSearched;
    /** Searches for a free permit since the last one that found none. */
    int searchCount;
}
