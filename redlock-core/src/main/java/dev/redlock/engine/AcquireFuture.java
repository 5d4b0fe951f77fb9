package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.engine.callback.DependentStage;
import java.util.concurrent.CancellationException;

/**
 * The stage of an acquisition. A caller may give it up at any time: that cancels the acquisition, or releases the lock
 * if nobody has taken the {@link OfferedOutcome}.
 *
 * @threading any thread
 */
final class AcquireFuture extends DependentStage<AcquireOutcome> {

    private final LeaseHandle lease;
    private final OfferedOutcome offer;

    AcquireFuture(LeaseHandle lease) {
        super(null);
        this.lease = lease;
        this.offer = new OfferedOutcome(lease);
    }

    /** The acquisition has ended. Called once. */
    void deliver() {
        if (!tryComplete(offer)) {
            lease.cancel();
        }
    }

    @Override
    protected void onGivenUp() {
        completeExceptionally(new CancellationException());
    }

    @Override
    public boolean complete(AcquireOutcome value) {
        boolean isFirst = tryComplete(value);
        if (isFirst) {
            lease.cancel();
        }
        return isFirst;
    }

    /** Withdraws an outcome that nobody has taken: it is replaced, so that it is not read as a held lock later. */
    @Override
    public boolean completeExceptionally(Throwable thrown) {
        if (!tryFail(thrown)) {
            if (!isOffered() || !offer.withdraw()) {
                return false;
            }
            super.obtrudeException(thrown);
        }
        lease.cancel();
        return true;
    }

    /** Whether it was completed with the lock. */
    private boolean isOffered() {
        return isDone() && !isCompletedExceptionally() && getNow(null) == offer && lease.isAcquired();
    }

    @Override
    public void obtrudeValue(AcquireOutcome value) {
        super.obtrudeValue(value);
        cancelUntaken();
    }

    @Override
    public void obtrudeException(Throwable thrown) {
        super.obtrudeException(thrown);
        cancelUntaken();
    }

    private void cancelUntaken() {
        if (offer.withdraw()) {
            lease.cancel();
        }
    }
}
