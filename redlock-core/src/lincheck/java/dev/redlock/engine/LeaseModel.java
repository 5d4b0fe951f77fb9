package dev.redlock.engine;

/**
 * The sequential specification of {@link LeaseOperations}: a lease handle whose operations run one after another. A
 * request that the handle refuses while another one is in progress, and an acquisition that was cancelled, have no
 * effect. To cancel a lease that is already held releases it.
 */
public class LeaseModel {

    private boolean isHeld;
    private boolean isReleased;
    private boolean isClosed;

    public String acquire() {
        if (isHeld) {
            return "IN_USE";
        }
        isReleased = false;
        isHeld = !isClosed;
        return isHeld ? "ACQUIRED" : "CLOSED";
    }

    public void cancel() {
        release();
    }

    public String release() {
        isReleased |= isHeld;
        isHeld = false;
        return isReleased ? "RELEASED" : "NOT_HELD";
    }

    public String releaseWithCallback() {
        return release();
    }

    public void close() {
        release();
    }

    public String extend() {
        return isHeld ? "EXTENDED" : "NOT_HELD";
    }

    public String extendWithCallback() {
        return extend();
    }

    public boolean isHeld() {
        return isHeld;
    }

    public void closeClient() {
        release();
        isClosed = true;
    }
}
