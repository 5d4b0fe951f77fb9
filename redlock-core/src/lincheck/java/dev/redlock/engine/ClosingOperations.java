package dev.redlock.engine;

import org.jetbrains.lincheck.datastructures.Operation;

/**
 * Blocking calls on a held lease, and the end of its client. A closed client runs callbacks on a thread of the common
 * pool, which Lincheck does not control, so there are none.
 */
public class ClosingOperations extends LeaseCalls {

    /** Called by Lincheck before each run of a scenario. */
    public ClosingOperations() {
        hold();
    }

    @Operation
    public String release() {
        return callRelease();
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
    public boolean isHeld() {
        return callIsHeld();
    }

    @Operation(runOnce = true)
    public void closeClient() {
        callCloseClient();
    }

    /** The model of a lease that is held. */
    public static class Model extends LeaseModel {

        public Model() {
            acquire();
        }
    }
}
