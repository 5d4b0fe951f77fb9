package dev.redlock.cli;

import dev.redlock.engine.key.KeyText;
import dev.redlock.resp.RespValue;
import java.util.ArrayList;
import java.util.List;

/**
 * Who reads a lock, or waits for it, as far as one node knows. The keys beside a lock are those in docs/reference.md.
 *
 * @param readerCount readers that have the lock
 * @param waiterCount clients in the queue, and writers with a reservation; some may have given up
 * @param isMarked    whether a waiter that is not counted has left its mark lately
 * @threading immutable
 */
record WaitReading(long readerCount, long waiterCount, boolean isMarked) {

    static final WaitReading NONE = new WaitReading(0, 0, false);

    private static final String QUEUE = ":queue";
    private static final String TICKETS = ":tickets";
    private static final String MARK = ":waiting";
    private static final long MARK_MS = 500;
    private static final int TICKETS_MAX = 1_023;
    private static final int GRANTED_BITS = 16;
    /** The scores of readers and writers are times since the epoch; those of other programs are hardly above. */
    private static final String SCORE_MIN = "1000000000000";
    private static final int COMMANDS = 6;

    /** Whether a key is one of those beside a lock that waiters leave. */
    static boolean isOfWaiter(String key) {
        return key.contains(KeyText.RESERVATION_MARK)
                || key.contains(KeyText.COUNTER_MARK) && (key.endsWith(QUEUE) || key.endsWith(MARK));
    }

    /** The readings of locks; null if the node does not answer. */
    static List<WaitReading> read(LockNode node, List<String> names) {
        List<List<byte[]>> commands = new ArrayList<>();
        for (String name : names) {
            String awaited = semaphoreOf(name);
            String counter = KeyText.counterName(awaited);
            String reservation = awaited + KeyText.RESERVATION_MARK;
            commands.add(words("ZCOUNT", name, SCORE_MIN, "+inf"));
            commands.add(words("ZCOUNT", name, "-inf", "-" + SCORE_MIN));
            commands.add(words("ZCOUNT", counter + QUEUE, "-inf", "+inf"));
            commands.add(words("GETRANGE", reservation + TICKETS, "0", "31"));
            commands.add(words("PTTL", counter + MARK));
            commands.add(words("PTTL", reservation));
        }
        return commands.isEmpty() ? List.of() : node.sendAllOfFound(commands, WaitReading::readings);
    }

    static List<byte[]> words(String... words) {
        List<byte[]> command = new ArrayList<>();
        for (String word : words) {
            command.add(LockNode.latin(word));
        }
        return command;
    }

    /** Waiters want any permit, so they leave their mark beside the semaphore. */
    static String semaphoreOf(String name) {
        int mark = name.indexOf(KeyText.PERMIT_MARK);
        return mark < 0 ? name : name.substring(0, mark);
    }

    private static List<WaitReading> readings(List<RespValue> replies) {
        List<WaitReading> readings = new ArrayList<>();
        for (int i = 0; i < replies.size(); i += COMMANDS) {
            readings.add(of(replies.subList(i, i + COMMANDS)));
        }
        return readings;
    }

    private static WaitReading of(List<RespValue> replies) {
        // A set that waits takes several tickets, so their number says nothing.
        boolean isSetWaiting = tickets(replies.get(3)) > 0 || isMark(replies.get(5));
        return new WaitReading(count(replies.get(0)), count(replies.get(1)) + count(replies.get(2)),
                isMark(replies.get(4)) || isSetWaiting);
    }

    private static long count(RespValue reply) {
        return reply.isError() ? 0 : reply.asLong();
    }

    /** The tickets after the last one that was granted. */
    static long tickets(RespValue reply) {
        if (reply.isError() || !reply.asText().matches("\\d{1,16}")) {
            return 0;
        }
        long count = Long.parseLong(reply.asText());
        return Math.floorMod((count >>> GRANTED_BITS) - (count & (1 << GRANTED_BITS) - 1), TICKETS_MAX);
    }

    /** A key that exists for longer is not one of a waiter. */
    private static boolean isMark(RespValue ttlMs) {
        return !ttlMs.isError() && ttlMs.asLong() > 0 && ttlMs.asLong() <= MARK_MS;
    }
}
