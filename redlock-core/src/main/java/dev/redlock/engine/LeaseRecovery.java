package dev.redlock.engine;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.callback.UserCallbacks;

/**
 * Gives callers of requests an outcome if the request threw, or if the event loop has ended before it.
 *
 * @threading event-loop-confined, except {@link #onRejected} and {@link #completeWithoutLoop}
 */
final class LeaseRecovery {

    private LeaseRecovery() {
    }

    /** A request threw. Logs after the outcome, because a log handler may throw. */
    static void recover(RequestMailbox lease, LeaseLoop owner, short use, int request, Throwable thrown) {
        try {
            if (lease.useCount() == use) {
                recover((LeaseHandle) lease, owner, request);
            }
        } catch (RuntimeException | Error e) {
            thrown.addSuppressed(e);
        } finally {
            UserCallbacks.logRequestThrown(thrown);
        }
    }

    /** Gives the caller of a request that threw its outcome. */
    private static void recover(LeaseHandle lease, LeaseLoop owner, int request) {
        switch (request) {
            case RequestMailbox.ACQUIRE, RequestMailbox.DELIVER -> recoverAcquisition(lease, owner);
            case RequestMailbox.EXTEND -> recoverExtension(lease, owner);
            case RequestMailbox.HOLD -> {
                // The hold is as it was.
            }
            default -> {
                // A release, or the cancellation of a held lease. If the round has started, it ends the lease.
                if (lease.storedState() == LeaseState.HELD) {
                    owner.endAfterFailure(lease);
                }
            }
        }
    }

    private static void recoverAcquisition(LeaseHandle lease, LeaseLoop owner) {
        lease.isStarting = lease.isInCall();
        try {
            owner.abortAfterFailure(lease);
        } finally {
            lease.isStarting = false;
        }
        if (lease.pending == null && lease.storedState() == LeaseState.ACQUIRING
                && lease.isTaken(RequestMailbox.DELIVER)) {
            // It threw before the scheduler had it.
            lease.complete(AcquireOutcome.Kind.NO_QUORUM, AcquireOutcome.Kind.NO_QUORUM, LeaseState.NOT_ACQUIRED);
        }
    }

    /**
     * Inside its call, the extension is requested again for the next turn, where its callback may run. The callback of
     * the extension that threw may have started another one, which has its own end.
     */
    private static void recoverExtension(LeaseHandle lease, LeaseLoop owner) {
        boolean isStarted = lease.isExtensionAccepted() && lease.claim != null && lease.claim.isExtending();
        if (lease.extendState == LeaseHandle.ExtendState.NONE || !lease.isTaken(RequestMailbox.EXTEND) || isStarted) {
            return;
        }
        if (lease.isInCall()) {
            lease.setExtendState(LeaseHandle.ExtendState.REQUESTED);
            lease.deferToNextTurn(owner, RequestMailbox.EXTEND);
        } else {
            lease.completeExtend(ExtendOutcome.NOT_EXTENDED);
        }
    }

    /** The loop has ended: the calling thread completes the requests itself, unless one has a callback. */
    static void onRejected(RequestMailbox lease, int requests) {
        if (lease.hasCallback()) {
            completeElsewhere(lease, requests);
        } else {
            completeWithoutLoop((LeaseHandle) lease, requests);
        }
    }

    /**
     * Completes requests on another thread, because this thread may be inside the call that passed the callback. The
     * thread is one of the client: tasks of the application may occupy the common pool of the JVM.
     */
    static void completeElsewhere(RequestMailbox lease, int requests) {
        if (requests == 0) {
            return;
        }
        LeaseHandle handle = (LeaseHandle) lease;
        try {
            handle.client.callbacks.executeElsewhere(() -> completeWithoutLoop(handle, requests));
        } catch (RuntimeException | Error e) {
            // No other thread is available.
            completeWithoutLoop(handle, requests);
        }
    }

    /** Completes requests after the end of the event loop. */
    private static void completeWithoutLoop(LeaseHandle lease, int requests) {
        if ((requests & RequestMailbox.ACQUIRE) != 0) {
            lease.complete(AcquireOutcome.Kind.CLOSED, AcquireOutcome.Kind.CLOSED, LeaseState.NOT_ACQUIRED);
        }
        if ((requests & RequestMailbox.DELIVER) != 0) {
            // The ending loop has completed the acquisition, but not delivered the outcome.
            lease.loop().execute(lease, RequestMailbox.DELIVER);
        }
        if ((requests & RequestMailbox.EXTEND) != 0) {
            lease.completeExtend(ExtendOutcome.NOT_HELD);
        }
        if ((requests & RequestMailbox.RELEASE) != 0) {
            ReleaseOutcome before = lease.releaseOutcome;
            ReleaseOutcome outcome = before == null ? ReleaseOutcome.UNKNOWN : before;
            if (!lease.storedState().isFinal()) {
                lease.end(LeaseState.RELEASED, outcome);
            }
            lease.completeRelease(outcome);
        }
    }
}
