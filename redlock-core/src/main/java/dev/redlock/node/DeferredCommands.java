package dev.redlock.node;

/**
 * The releases and extensions of plain locks that wait for the end of the turn. The first one waits here and
 * needs no batch, unless a second one follows: then both are in the {@link CommandBatches}.
 *
 * @threading event-loop-confined
 */
final class DeferredCommands {

    private final FanOut fanOut;
    private final CommandBatches batches;
    /** The only release or extension of the turn so far; null if there is none, or if the batches have it. */
    private LockRequest lone;
    private CommandKind loneKind;
    private int loneSequence;
    private long loneMask;

    DeferredCommands(FanOut fanOut, CommandBatches batches) {
        this.fanOut = fanOut;
        this.batches = batches;
    }

    /** A command for the nodes of a mask leaves at the end of the turn. */
    void collect(LockRequest request, CommandKind kind, int sequence, long mask) {
        while (lone != null) {
            LockRequest first = lone;
            lone = null;
            batches.add(first, loneKind, loneSequence, loneMask);
        }
        if (batches.isCollecting) {
            batches.add(request, kind, sequence, mask);
        } else {
            batches.isCollecting = true;
            lone = request;
            loneKind = kind;
            loneSequence = sequence;
            loneMask = mask;
        }
        fanOut.scheduleFlush();
    }

    /** Whether a collected command may be for a resource of this one. */
    boolean mightContain(LockRequest request) {
        if (lone == null) {
            return batches.mightContain(request);
        }
        int hash = lone.resourceHash(0);
        for (int i = request.keyCount() - 1; i >= 0; i--) {
            if (request.resourceHash(i) == hash) {
                return true;
            }
        }
        return false;
    }

    /** Writes the collected commands, so that later ones follow them. */
    void sealCollected() {
        if (lone != null && loneKind == CommandKind.EXTEND) {
            reserveForLone();
        }
        if (lone == null) {
            batches.seal();
        } else {
            LockRequest request = lone;
            lone = null;
            batches.isCollecting = false;
            fanOut.sendNow(request, loneKind, loneSequence, loneMask);
        }
    }

    /** As for a batch: a release that room causes must find the extension that it follows. */
    private void reserveForLone() {
        LockRequest reserved = null;
        while (lone != null && lone != reserved) {
            reserved = lone;
            fanOut.withRoom(FanOut.roomFor(reserved, loneKind));
        }
    }
}
