package dev.redlock.loadtest.history;

import java.util.List;
import java.util.Locale;

/**
 * One line of a history: the start or the end of an operation. Its fields follow in this order, separated by spaces, in
 * lower case but for the outcome. Lines may be out of order.
 *
 * @param timeNs    the time on the monotonic clock that all processes of the machine share
 * @param process   the calling thread, with one call at a time; a number is never used again after its process was
 *                  killed
 * @param resources the names of the resources: one, or those of a set, separated by commas
 * @param kind      the kind of lock; of a read or a write: that of the section
 * @param token     the fencing token, or the value of a register; 0 without one
 * @param untilNs   the time up to which the holder relies on the lock, as far as this line says; 0 if it does not
 * @param outcome   the outcome of the client; {@value #NO_OUTCOME} without one
 * @threading immutable
 */
public record HistoryLine(long timeNs, int process, Type type, Operation operation, List<String> resources, Kind kind,
        long token, long untilNs, String outcome) {
    /** The outcome of a start, and of an end that nobody has seen. */
    public static final String NO_OUTCOME = "-";
    private static final String FIELD_SEPARATOR = " ";
    private static final String RESOURCE_SEPARATOR = ",";
    private static final int FIELDS = 9;

    /** @threading immutable */
    public enum Type {
        INVOKE,
        /** The operation took effect between the call and this line. */
        OK,
        /** The operation had no effect. */
        FAIL,
        /** It is unknown whether the operation took effect. */
        INFO
    }

    /** @threading immutable */
    public enum Operation {
        ACQUIRE, EXTEND, RELEASE,
        /** Writes a fencing token to the register of a resource, which rejects one lower than the greatest written. */
        WRITE, READ
    }

    /** @threading immutable */
    public enum Kind {
        /** One holder. */
        PLAIN,
        /** Any number of readers, and no writer. */
        READER,
        /** One writer, and no reader. */
        WRITER,
        /** One permit of the semaphore of this name. */
        PERMIT
    }

    public boolean isInvoke() {
        return type == Type.INVOKE;
    }

    /** Parses a line that is not a comment; throws IllegalArgumentException if it lacks the documented fields. */
    public static HistoryLine parse(String text) {
        String[] fields = text.split(FIELD_SEPARATOR);
        if (fields.length != FIELDS) {
            throw new IllegalArgumentException("the line has " + fields.length + " fields instead of " + FIELDS + ": "
                    + text);
        }
        return new HistoryLine(Long.parseLong(fields[0]), Integer.parseInt(fields[1]),
                Type.valueOf(fields[2].toUpperCase(Locale.ROOT)), Operation.valueOf(fields[3].toUpperCase(Locale.ROOT)),
                List.of(fields[4].split(RESOURCE_SEPARATOR)), Kind.valueOf(fields[5].toUpperCase(Locale.ROOT)),
                Long.parseLong(fields[6]), Long.parseLong(fields[7]), fields[8]);
    }

    /** The line of the file, without its end. */
    @Override
    public String toString() {
        return String.join(FIELD_SEPARATOR, Long.toString(timeNs), Integer.toString(process), lower(type),
                lower(operation), String.join(RESOURCE_SEPARATOR, resources), lower(kind), Long.toString(token),
                Long.toString(untilNs), outcome);
    }

    private static String lower(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }
}
