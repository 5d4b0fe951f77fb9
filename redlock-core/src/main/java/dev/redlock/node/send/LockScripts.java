package dev.redlock.node.send;

import dev.redlock.quorum.Token;
import dev.redlock.resp.RespWriter;
import io.netty.buffer.ByteBuf;

/**
 * The commands that run a script of {@link ScriptSources} for one lock.
 *
 * @threading immutable
 */
final class LockScripts {

    /** Bytes of a command without its keys: prefix, numbers, and the value, which a native extension has twice. */
    static final int COMMAND_OVERHEAD_BYTES = 256 + 2 * Token.LABEL_LENGTH_MAX;

    /** Bytes of a ticket of a set, of at most ten digits. */
    private static final int TICKET_BYTES = 17;

    /** {@code $0}, an empty bulk string. */
    private static final byte[] EMPTY = {'$', '0', '\r', '\n', '\r', '\n'};
    /** {@code $1 ?}: the script respects the reservations of others. */
    private static final byte[] NONE_LEFT = {'$', '1', '\r', '\n', '?', '\r', '\n'};

    /** The head of a bulk string of one byte. */
    private static final byte[] ONE_BYTE = {'$', '1', '\r', '\n'};

    private LockScripts() {
    }

    /** {@code EVALSHA <sha> K key1 ... keyK token arguments}, or {@code EVAL} with the script if it is not cached. */
    static void write(ByteBuf out, CommandKind kind, LockRequest command, boolean isEval) {
        LockKind lock = command.lockKind();
        ScriptArguments arguments = command.arguments();
        int ticketCount = lock == LockKind.SET && kind.isAcquire && arguments.isTicketWanted() ? command.keyCount() : 0;
        writeHead(out, lock, kind, command.keyCount() * (kind.hasCounter ? 2 : 1), ticketCount, isEval);
        writeArguments(out, kind, command);
        if (hasReservation(lock, kind)) {
            Token reservation = arguments.reservation();
            out.writeBytes(reservation == null ? EMPTY : arguments.isReservationLeft() ? reservation.bulk : NONE_LEFT);
        } else if (lock == LockKind.PERMIT) {
            RespWriter.bulkInteger(out, arguments.wantedCount());
        }
        for (int i = 0; i < ticketCount; i++) {
            RespWriter.bulkInteger(out, arguments.ticket(i));
        }
    }

    /** Whether a command has the name of a reservation after the other arguments. */
    private static boolean hasReservation(LockKind lock, CommandKind kind) {
        return kind.isAcquire && lock.isReserving;
    }

    /** The bytes before the first key. */
    static void writeHead(ByteBuf out, LockKind lock, CommandKind kind, int keyCount, int ticketCount,
            boolean isEval) {
        boolean hasArgumentOfKind = hasReservation(lock, kind) || lock == LockKind.PERMIT;
        int argumentCount = 1 + kind.argumentCount + (hasArgumentOfKind ? 1 : 0) + ticketCount;
        RespWriter.arrayHeader(out, 3 + keyCount + argumentCount);
        out.writeBytes(ScriptSources.head(lock, kind, isEval));
        RespWriter.bulkInteger(out, keyCount);
    }

    /** The keys, the token and the other arguments. */
    private static void writeArguments(ByteBuf out, CommandKind kind, LockRequest command) {
        out.writeBytes(command.resourceBulk());
        if (kind.hasCounter) {
            out.writeBytes(command.counterBulk());
        }
        out.writeBytes(command.token.bulk);
        ScriptArguments arguments = command.arguments();
        switch (kind) {
            case ACQUIRE, EXTEND, SHORTEN -> RespWriter.bulkInteger(out, command.ttlMs);
            case ACQUIRE_FENCED -> {
                RespWriter.bulkInteger(out, command.ttlMs);
                RespWriter.bulkInteger(out, arguments.counterTtlMs());
                RespWriter.bulkInteger(out, arguments.counterFloor());
            }
            case ACQUIRE_IN_ORDER -> {
                RespWriter.bulkInteger(out, command.ttlMs);
                out.writeBytes(command.counterBulk());
                writeWaiter(out, arguments);
            }
            case ACQUIRE_FENCED_IN_ORDER -> {
                RespWriter.bulkInteger(out, command.ttlMs);
                RespWriter.bulkInteger(out, arguments.counterTtlMs());
                RespWriter.bulkInteger(out, arguments.counterFloor());
                writeWaiter(out, arguments);
            }
            case LEAVE_QUEUE -> out.writeBytes(command.counterBulk()).writeBytes(arguments.waiterBulk());
            case RAISE, RELEASE_FENCED -> {
                RespWriter.bulkInteger(out, arguments.highestFence());
                RespWriter.bulkInteger(out, arguments.counterTtlMs());
            }
            case RELEASE, CHECK, REMAINING_TTL, MARK, PLACE, WAITING, KEY_TYPE, CREATE_TRACE, WATCH_TRACES,
                    LEAVE_TRACE -> {
                // no argument after the token
            }
            case RELEASE_MANY, RELEASE_MANY_FENCED, EXTEND_MANY, ACQUIRE_MANY ->
                throw new IllegalArgumentException("CommandBatch writes a batch");
        }
    }

    /** The last three arguments of a script that enters the queue. */
    private static void writeWaiter(ByteBuf out, ScriptArguments arguments) {
        out.writeBytes(arguments.waiterBulk());
        RespWriter.bulkInteger(out, arguments.waitedUs());
        out.writeBytes(ONE_BYTE).writeByte(arguments.queueMode()).writeShort('\r' << 8 | '\n');
    }

    /** The same for a release that was kept. */
    static void writeRelease(ByteBuf out, UndeliveredRelease release, boolean isEval) {
        writeHead(out, release.lockKind, CommandKind.RELEASE, release.keyCount, 0, isEval);
        out.writeBytes(release.resourceBulk);
        out.writeBytes(release.token.bulk);
    }

    /** Capacity for a command in any encoding but {@code MSETEX}, without the script. */
    static int roomFor(LockRequest command, CommandKind kind) {
        int room = PlainCommands.roomFor(command) + (kind.isCounterNamed ? roomForNames(command) : 0);
        boolean mayHaveTickets = command.lockKind() == LockKind.SET && kind.isAcquire;
        return mayHaveTickets ? room + TICKET_BYTES * command.keyCount() : room;
    }

    private static int roomForNames(LockRequest command) {
        byte[] waiterBulk = command.arguments().waiterBulk();
        return command.counterBulk().length + (waiterBulk == null ? 0 : waiterBulk.length);
    }

    /** Capacity for a release. */
    static int roomFor(UndeliveredRelease release, boolean isEval) {
        int script = isEval ? ScriptSources.source(release.lockKind, CommandKind.RELEASE).length : 0;
        return COMMAND_OVERHEAD_BYTES + script + release.resourceBulk.length;
    }
}
