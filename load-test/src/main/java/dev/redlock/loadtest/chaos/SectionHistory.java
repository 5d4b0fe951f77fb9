package dev.redlock.loadtest.chaos;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.loadtest.history.HistoryFile;
import dev.redlock.loadtest.history.HistoryLine;
import dev.redlock.loadtest.history.HistoryLine.Kind;
import dev.redlock.loadtest.history.HistoryLine.Operation;
import dev.redlock.loadtest.history.HistoryLine.Type;
import java.io.IOException;
import java.util.List;

/**
 * The operations of one thread, written to the history of the run if it has one. A start is written before its call,
 * and an end after it. Without a history it does nothing, and no register is used.
 *
 * @threading caller-confined
 */
final class SectionHistory {
    private final HistoryFile file;
    private final SharedRegisters registers;
    private final int process;
    private List<String> resources = List.of();
    private Kind kind = Kind.PLAIN;
    private long token;
    private long acquireNs;
    private long extendNs;

    /** Writes to a file, as this process. Without a file it does nothing. */
    SectionHistory(HistoryFile file, SharedRegisters registers, int process) {
        this.file = file;
        this.registers = registers;
        this.process = process;
    }

    void acquire(List<String> names, Kind whichKind) throws IOException {
        resources = names;
        kind = whichKind;
        token = 0;
        acquireNs = System.nanoTime();
        write(acquireNs, Type.INVOKE, Operation.ACQUIRE, 0, HistoryLine.NO_OUTCOME);
    }

    /** Without validity left, the holder has never relied on the lock, so the lease may have ended at any time. */
    void acquired(long nowNs, long fence, long remainingNs) throws IOException {
        token = fence;
        write(nowNs, Type.OK, Operation.ACQUIRE, remainingNs == 0 ? acquireNs : nowNs + remainingNs,
                AcquireOutcome.Kind.ACQUIRED.name());
    }

    void notAcquired(AcquireOutcome outcome) throws IOException {
        String reason = outcome.kind() == outcome.lastReason() ? "" : "/" + outcome.lastReason();
        write(System.nanoTime(), Type.FAIL, Operation.ACQUIRE, 0, outcome.kind() + reason);
    }

    void extend() throws IOException {
        extendNs = System.nanoTime();
        write(extendNs, Type.INVOKE, Operation.EXTEND, 0, HistoryLine.NO_OUTCOME);
    }

    /** Without validity left, a lease that was extended has ended at any time after the call. */
    void extended(ExtendOutcome outcome, long nowNs, long remainingNs) throws IOException {
        boolean isExtended = outcome == ExtendOutcome.EXTENDED;
        long endedNs = isExtended ? extendNs : 0;
        write(nowNs, isExtended ? Type.OK : Type.FAIL, Operation.EXTEND,
                remainingNs == 0 ? endedNs : nowNs + remainingNs, outcome.name());
    }

    /** The holder relied on the lock until that time; 0 if it never did. */
    void release(long untilNs) throws IOException {
        write(System.nanoTime(), Type.INVOKE, Operation.RELEASE, untilNs, HistoryLine.NO_OUTCOME);
    }

    void released(ReleaseOutcome outcome) throws IOException {
        Type type = switch (outcome) {
            case RELEASED, RETAINED -> Type.OK;
            case EXPIRED -> Type.FAIL;
            default -> Type.INFO;
        };
        write(System.nanoTime(), type, Operation.RELEASE, 0, outcome.name());
    }

    void writeRegisters(int... numbers) throws IOException {
        for (int i = 0; file != null && i < numbers.length; i++) {
            List<String> one = List.of(resources.get(i));
            write(one, Type.INVOKE, Operation.WRITE, token, HistoryLine.NO_OUTCOME);
            boolean isAccepted = registers.write(numbers[i], token);
            write(one, isAccepted ? Type.OK : Type.FAIL, Operation.WRITE, token, isAccepted ? "ACCEPTED" : "REJECTED");
        }
    }

    void readRegisters(int... numbers) throws IOException {
        for (int i = 0; file != null && i < numbers.length; i++) {
            List<String> one = List.of(resources.get(i));
            write(one, Type.INVOKE, Operation.READ, 0, HistoryLine.NO_OUTCOME);
            write(one, Type.OK, Operation.READ, registers.read(numbers[i]), HistoryLine.NO_OUTCOME);
        }
    }

    private void write(List<String> one, Type type, Operation operation, long value, String outcome)
            throws IOException {
        file.write(new HistoryLine(System.nanoTime(), process, type, operation, one, kind, value, 0, outcome));
    }

    private void write(long timeNs, Type type, Operation operation, long untilNs, String outcome) throws IOException {
        if (file != null) {
            file.write(new HistoryLine(timeNs, process, type, operation, resources, kind, token, untilNs, outcome));
        }
    }
}
