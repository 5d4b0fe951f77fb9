package dev.redlock.node.send;

/**
 * A key that belongs to a slot of each cluster.
 *
 * @threading event-loop-confined
 */
public interface SlotKey {

    /** @return the slot of the key, 0 to {@link KeySlot#COUNT} - 1 */
    int slot();
}
