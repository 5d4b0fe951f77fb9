package dev.redlock.node;

import dev.redlock.resp.RespWriter;
import io.netty.buffer.ByteBuf;

/**
 * The scripts of one {@link LockKind} other than {@link LockKind#PLAIN}, and the commands that run them. They are
 * loaded at the first use, so clients without such locks do not pay for them. The handshake does not load them either:
 * a node that meets one for the first time replies {@code NOSCRIPT} and gets its source.
 *
 * @threading immutable
 */
final class KindScripts {

    /** By kind of lock; null before the first use. */
    private static final KindScripts[] LOADED = new KindScripts[LockKind.values().length];
    /** {@code $0}, an empty bulk string. */
    private static final byte[] EMPTY = {'$', '0', '\r', '\n', '\r', '\n'};
    /** {@code $1 ?}: the script respects the reservations of others. */
    private static final byte[] NONE_LEFT = {'$', '1', '\r', '\n', '?', '\r', '\n'};

    private final byte[][] sources = new byte[CommandKind.values().length][];
    /** {@code $7 EVALSHA $40 <sha>} */
    private final byte[][] evalSha = new byte[sources.length][];
    /** {@code $4 EVAL <source>} */
    private final byte[][] eval = new byte[sources.length][];

    private final LockKind lock;

    private KindScripts(LockKind lock) {
        this.lock = lock;
        for (CommandKind command : CommandKind.values()) {
            String name = lock.scriptName(command);
            if (name != null) {
                byte[] source = ScriptSources.load(name);
                sources[command.ordinal()] = source;
                evalSha[command.ordinal()] = ScriptSources.evalShaHead(source);
                eval[command.ordinal()] = ScriptSources.evalHead(source);
            }
        }
    }

    static KindScripts of(LockKind lock) {
        KindScripts loaded = LOADED[lock.ordinal()];
        if (loaded == null) {
            // Two event loops may load them twice.
            loaded = new KindScripts(lock);
            LOADED[lock.ordinal()] = loaded;
        }
        return loaded;
    }

    /** The script's source, borrowed. */
    byte[] source(CommandKind command) {
        return sources[command.ordinal()];
    }

    /** {@code EVALSHA <sha> K key1 ... keyK token arguments}, or {@code EVAL} with the source. */
    void write(ByteBuf out, CommandKind kind, LockRequest command, boolean isEval) {
        int ticketCount = lock == LockKind.SET && kind.isAcquire && command.ticket() >= 0 ? command.keyCount() : 0;
        writeHead(out, kind, command.keyCount() * (kind.hasCounter ? 2 : 1), ticketCount, isEval);
        LockScripts.writeArguments(out, kind, command);
        if (lock.hasReservation(kind) && command.reservation() == null) {
            out.writeBytes(EMPTY);
        } else if (lock.hasReservation(kind) && !command.isReservationLeft()) {
            out.writeBytes(NONE_LEFT);
        } else if (lock.hasReservation(kind)) {
            out.writeBytes(command.reservation().bulk);
        } else if (lock == LockKind.PERMIT) {
            RespWriter.bulkInteger(out, command.wantedCount());
        }
        for (int i = 0; i < ticketCount; i++) {
            RespWriter.bulkInteger(out, command.ticket(i));
        }
    }

    /** The same for a release that was kept. */
    void writeRelease(ByteBuf out, UndeliveredRelease release, boolean isEval) {
        writeHead(out, CommandKind.RELEASE, release.keyCount(), 0, isEval);
        out.writeBytes(release.resourceBulk());
        out.writeBytes(release.token().bulk);
    }

    private void writeHead(ByteBuf out, CommandKind kind, int keyCount, int ticketCount, boolean isEval) {
        boolean hasArgumentOfKind = lock.hasReservation(kind) || lock == LockKind.PERMIT;
        int argumentCount = 1 + kind.argumentCount + (hasArgumentOfKind ? 1 : 0) + ticketCount;
        RespWriter.arrayHeader(out, 3 + keyCount + argumentCount);
        out.writeBytes((isEval ? eval : evalSha)[kind.ordinal()]);
        RespWriter.bulkInteger(out, keyCount);
    }
}
