package dev.redlock.loadtest.chaos;

import dev.redlock.api.AcquireOutcome;
import java.nio.ByteBuffer;

/**
 * One record of the shared file, {@value #BYTES} bytes.
 *
 * @param section       the critical section, unique in the process
 * @param timeNs        the time on the machine-wide monotonic clock
 * @param validityEndNs the end of the lease's validity on the same clock
 * @param fence         the fencing token; 0 without one
 * @param acquireUs     of a start, and of a refusal if one resource was asked for: the duration of the acquire, waiting
 *                      included, in microseconds
 * @threading immutable
 */
record SectionRecord(Kind kind, int worker, int resource, long section, long timeNs, long validityEndNs, long fence,
        int acquireUs) {
    static final int BYTES = 64;
    static final int PERMITS = 2;
    /** The number of the semaphore of resource 0: a semaphore and a lock of one name do not exclude each other. */
    static final int FIRST_SEMAPHORE = 1_000_000;
    private static final long MAGIC = 0x7265646C6F636B31L;
    private static final Kind[] KINDS = Kind.values();
    private static final AcquireOutcome.Kind[] OUTCOMES = AcquireOutcome.Kind.values();

    /** @threading immutable */
    enum Kind {
        ENTER,
        /** The lease was extended inside the section; the record carries the new end of its validity. */
        EXTEND,
        /** The section is over; the lease has not been released yet. */
        LEAVE,
        /**
         * There was no section: the lock was not acquired. The section's number encodes the reason, see {@link
         * #refusal}.
         */
        REFUSED,
        /** The section of a reader starts: it may overlap with those of other readers. */
        READ,
        /** The section of a permit starts: it may overlap with {@link #PERMITS} - 1 others of its semaphore. */
        PERMIT,
        /** An acquire starts; the section's number is that of its thread. */
        ASK
    }

    /** A record of another kind than a start, or a start without the duration of its acquire. */
    SectionRecord(Kind kind, int worker, int resource, long section, long timeNs, long validityEndNs, long fence) {
        this(kind, worker, resource, section, timeNs, validityEndNs, fence, 0);
    }

    /** Whether a section starts. */
    boolean isStart() {
        return kind == Kind.ENTER || kind == Kind.READ || kind == Kind.PERMIT;
    }

    static SectionRecord refusal(int worker, int resource, long timeNs, AcquireOutcome outcome, int acquireUs) {
        long why = (long) outcome.kind().ordinal() * OUTCOMES.length + outcome.lastReason().ordinal();
        return new SectionRecord(Kind.REFUSED, worker, resource, why, timeNs, 0, 0, acquireUs);
    }

    /** The reason why there was no section, as text. */
    String refusal() {
        AcquireOutcome.Kind outcome = OUTCOMES[(int) section / OUTCOMES.length];
        AcquireOutcome.Kind reason = OUTCOMES[(int) section % OUTCOMES.length];
        return outcome == reason ? outcome.name() : outcome + " (" + reason + ")";
    }

    void write(ByteBuffer out) {
        out.putLong(MAGIC).putInt(kind.ordinal()).putInt(worker).putInt(resource).putInt(acquireUs);
        out.putLong(section).putLong(timeNs).putLong(validityEndNs).putLong(fence).putLong(checksum());
    }

    static SectionRecord read(ByteBuffer in) {
        long magic = in.getLong();
        int kind = in.getInt();
        int worker = in.getInt();
        int resource = in.getInt();
        int acquireUs = in.getInt();
        if (magic != MAGIC || kind < 0 || kind >= KINDS.length) {
            throw new IllegalStateException("the evidence is damaged at byte " + (in.position() - 24));
        }
        SectionRecord record = new SectionRecord(KINDS[kind], worker, resource, in.getLong(), in.getLong(),
                in.getLong(), in.getLong(), acquireUs);
        if (in.getLong() != record.checksum()) {
            throw new IllegalStateException("the evidence is damaged before byte " + in.position());
        }
        return record;
    }

    private long checksum() {
        long sum = MAGIC + kind.ordinal();
        for (long part : new long[]{worker, resource, section, timeNs, validityEndNs, fence, acquireUs}) {
            sum = (sum ^ part) * 0x9E3779B97F4A7C15L;
            sum ^= sum >>> 32;
        }
        return sum;
    }
}
