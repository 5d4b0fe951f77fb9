package dev.redlock.engine;

import org.jetbrains.lincheck.datastructures.Operation;

/** All calls on one lease handle. */
public class LeaseOperations extends LeaseCalls {

    @Operation
    public String acquire() {
        return callAcquire();
    }

    @Operation
    public void cancel() {
        callCancel();
    }

    @Operation
    public String release() {
        return callRelease();
    }

    @Operation
    public String releaseWithCallback() {
        return callReleaseWithCallback();
    }

    @Operation
    public void close() {
        callClose();
    }

    @Operation
    public String extend() {
        return callExtend();
    }

    @Operation
    public String extendWithCallback() {
        return callExtendWithCallback();
    }

    @Operation
    public boolean isHeld() {
        return callIsHeld();
    }
}
