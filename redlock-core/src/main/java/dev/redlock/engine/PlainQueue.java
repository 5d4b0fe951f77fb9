package dev.redlock.engine;

import dev.redlock.engine.crowd.Place;

/**
 * The local queue of a plain lock, and the place of this client in the queue of all clients.
 *
 * @threading event-loop-confined
 */
final class PlainQueue extends WaitQueue {

    /** The place of this client among all that wait. */
    final Place place = new Place();
    private final Line line;

    /**
     * What it does with its place.
     *
     * @threading event-loop-confined
     */
    interface Line {

        /** The client waits no more for the lock. */
        void leave(PlainQueue queue);

        /** A registered key has changed. Returns whether the head leaves the lock to another client at first. */
        boolean onPushed(PlainQueue queue, long nowNs);
    }

    PlainQueue(Line line) {
        this.line = line;
    }

    /** The place of the client of a waiter for a plain lock, which has a queue. */
    static Place placeOf(PendingAcquire pending) {
        return ((PlainQueue) pending.queue).place;
    }

    @Override
    void onCreated() {
        place.reset();
    }

    @Override
    void onEmptied() {
        if (place.isEntered()) {
            leave();
        }
    }

    @Override
    void leave() {
        line.leave(this);
    }

    @Override
    boolean isEntered() {
        return place.isEntered();
    }

    @Override
    boolean isEnteredAt(int nodeIndex) {
        return place.isAt(nodeIndex);
    }

    @Override
    boolean isPushLeftToOthers(long nowNs) {
        return line.onPushed(this, nowNs);
    }

    @Override
    boolean isPreceded() {
        return place.isPreceded();
    }

    @Override
    long waitsSinceNs(long startNs) {
        return place.waitsSinceNs(startNs);
    }

    @Override
    byte mode() {
        return place.mode();
    }

    @Override
    boolean hasFollowers() {
        return place.hasFollowers();
    }

    @Override
    void giveWay(long nowNs) {
        place.giveWay(nowNs);
    }

    @Override
    boolean onEntryLost(int nodeIndex) {
        boolean isLost = place.isAt(nodeIndex);
        if (isLost) {
            place.onLost();
        }
        return isLost;
    }
}
