package dev.redlock.engine;

import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.key.PermitKey;

/**
 * The local queue of a semaphore, with hints about its permits.
 *
 * @threading event-loop-confined
 */
final class PermitQueue extends WaitQueue {

    /** Facts about the permits; null before the first attempt. */
    PermitHints hints;
    private final Followers followers;

    /**
     * The waiters behind the head.
     *
     * @threading event-loop-confined
     */
    interface Followers {

        /** Starts as many followers as there may be free permits for. */
        void start(PermitQueue queue);

        /** Starts one for the next permit of the head, which is busy. Returns false if none starts. */
        boolean handOff(PermitQueue queue);

        /** One is none any more: it has left, or has become the head. Starts nothing yet. */
        void onLeft(PermitQueue queue);

        /**
         * A permit has changed. Starts nothing yet. Returns false if that concerns the head, as a push of another kind
         * of lock does.
         */
        boolean onPushed(PermitQueue queue, int nodeIndex, int number);

        /** Starts followers for the permits that have changed, and in place of those that have left. */
        void startDue();

        /** Whether attempts and leases of this client use each permit of a semaphore. */
        boolean isEachUsed(PermitKey semaphore);
    }

    PermitQueue(Followers followers) {
        this.followers = followers;
    }

    /** The queue of a waiter for a permit; null if it has none. */
    static PermitQueue of(PendingAcquire pending) {
        return (PermitQueue) pending.queue;
    }

    PermitKey semaphore() {
        return (PermitKey) key;
    }

    @Override
    void onEmptied() {
        hints = null;
    }

    @Override
    void onAppended() {
        if (hints != null) {
            followers.start(this);
        }
    }

    @Override
    void onReleased(LockKey lockedKey) {
        if (hints != null) {
            hints.permit = (PermitKey.Permit) lockedKey;
            hints.isPermitPushed = false;
        }
    }

    @Override
    boolean isHandedToFollower() {
        return hints != null && followers.handOff(this);
    }

    @Override
    void onFollowerLeft() {
        followers.onLeft(this);
    }

    /**
     * A permit has changed; {@link #startDueFollowers} follows. Returns false if that concerns the head, as a push of
     * another kind of lock does.
     */
    boolean onPushed(int nodeIndex, int number) {
        return followers.onPushed(this, nodeIndex, number);
    }

    @Override
    void startDueFollowers() {
        followers.startDue();
    }

    @Override
    void onOwnRelease() {
        head().waiting().hasSearched = false;
    }

    @Override
    void forgetHints() {
        if (hints != null) {
            hints.forget();
        }
    }

    @Override
    boolean isMarked() {
        return !followers.isEachUsed(semaphore());
    }
}
