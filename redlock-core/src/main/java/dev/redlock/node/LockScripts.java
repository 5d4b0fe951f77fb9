package dev.redlock.node;

import dev.redlock.quorum.Token;
import dev.redlock.resp.RespWriter;
import io.netty.buffer.ByteBuf;

/**
 * The commands that run a script of {@link ScriptSources} for one lock: three or four copies into the caller's buffer.
 *
 * @threading immutable
 */
final class LockScripts {

    /** Bytes of a command without its keys: prefix, numbers, and the value, which a native extension has twice. */
    static final int COMMAND_OVERHEAD_BYTES = 256 + 2 * Token.LABEL_LENGTH_MAX;

    private LockScripts() {
    }

    /** Writes the command that runs the cached script, or has the whole script for a node that has not cached it. */
    static void write(ByteBuf out, CommandKind kind, LockRequest command, boolean isEval) {
        if (command.lockKind() != LockKind.PLAIN) {
            KindScripts.of(command.lockKind()).write(out, kind, command, isEval);
            return;
        }
        byte[] prefix = (isEval ? ScriptSources.EVAL : ScriptSources.EVALSHA)[kind.ordinal()];
        if (prefix == null) {
            throw new IllegalArgumentException("there is no script for " + kind);
        }
        out.writeBytes(prefix);
        writeArguments(out, kind, command);
    }

    /** The keys, the token and the other arguments. */
    static void writeArguments(ByteBuf out, CommandKind kind, LockRequest command) {
        out.writeBytes(command.resourceBulk());
        if (kind.hasCounter) {
            out.writeBytes(command.counterBulk());
        }
        out.writeBytes(command.token.bulk);
        switch (kind) {
            case ACQUIRE, EXTEND, SHORTEN -> RespWriter.bulkInteger(out, command.ttlMs);
            case ACQUIRE_FENCED -> {
                RespWriter.bulkInteger(out, command.ttlMs);
                RespWriter.bulkInteger(out, command.counterTtlMs());
            }
            case ACQUIRE_WITH_TICKET -> {
                RespWriter.bulkInteger(out, command.ttlMs);
                RespWriter.bulkInteger(out, command.ticket());
                out.writeBytes(command.counterBulk());
            }
            case ACQUIRE_FENCED_WITH_TICKET -> {
                RespWriter.bulkInteger(out, command.ttlMs);
                RespWriter.bulkInteger(out, command.counterTtlMs());
                RespWriter.bulkInteger(out, command.ticket());
            }
            case RAISE, RELEASE_FENCED -> {
                RespWriter.bulkInteger(out, command.highestFence());
                RespWriter.bulkInteger(out, command.counterTtlMs());
            }
            case RELEASE, CHECK, REMAINING_TTL, TICKETS, KEY_TYPE -> {
                // no argument after the token
            }
            case RELEASE_MANY, RELEASE_MANY_FENCED, EXTEND_MANY ->
                throw new IllegalArgumentException("CommandBatch writes a batch");
        }
    }

    /** {@code EVALSHA <sha> 1 key token}, or {@code EVAL} with the script. */
    static void writeRelease(ByteBuf out, UndeliveredRelease release, boolean isEval) {
        if (release.lockKind() != LockKind.PLAIN) {
            KindScripts.of(release.lockKind()).writeRelease(out, release, isEval);
            return;
        }
        out.writeBytes((isEval ? ScriptSources.EVAL : ScriptSources.EVALSHA)[CommandKind.RELEASE.ordinal()]);
        out.writeBytes(release.resourceBulk());
        out.writeBytes(release.token().bulk);
    }

    /** Capacity for a command in any encoding but {@code MSETEX}, without the script. */
    static int roomFor(LockRequest command, CommandKind kind) {
        return PlainCommands.roomFor(command) + (kind.isCounterNamed ? command.counterBulk().length : 0);
    }

    /** Capacity for a release. */
    static int roomFor(UndeliveredRelease release, boolean isEval) {
        int script = isEval ? ScriptSources.source(release.lockKind(), CommandKind.RELEASE).length : 0;
        return COMMAND_OVERHEAD_BYTES + script + release.resourceBulk().length;
    }
}
