package dev.redlock.node.send;

import dev.redlock.resp.RespWriter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;

/**
 * The three commands of a lock that needs no more than a quorum of keys: copies of constants and of the encoded key,
 * token and ttl. {@link CommandVariants} has all others.
 *
 * @threading event-loop-confined
 */
final class PlainCommands {

    static final byte[] NX_PX = "$2\r\nNX\r\n$2\r\nPX\r\n".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] SET = "*6\r\n$3\r\nSET\r\n".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] RELEASE = evalSha(CommandKind.RELEASE);
    private static final byte[] EXTEND = evalSha(CommandKind.EXTEND);
    private static final int TTL_BYTES = 64;
    private static final int OVERHEAD_BYTES = WakeUpRequest.COMMAND_BYTES + LockScripts.COMMAND_OVERHEAD_BYTES;

    /** The last ttl as a bulk string: callers mostly use the same one again. */
    private final ByteBuf ttl = Unpooled.buffer(TTL_BYTES);
    private long ttlMs;

    /** The bytes before the key. */
    private static byte[] evalSha(CommandKind kind) {
        ByteBuf out = Unpooled.buffer();
        LockScripts.writeHead(out, LockKind.PLAIN, kind, 1, 0, false);
        return ByteBufUtil.getBytes(out);
    }

    /** Whether a command is one of the three. */
    static boolean isPlain(LockRequest command, CommandKind kind) {
        return command.lockKind() == LockKind.PLAIN && switch (kind) {
            case ACQUIRE -> !command.isRemainingTtlWanted && !command.isWakeUpWanted;
            case EXTEND, RELEASE -> true;
            default -> false;
        };
    }

    /** Capacity for a command with one key, in any encoding but {@code MSETEX}. */
    static int roomFor(LockRequest command) {
        return OVERHEAD_BYTES + command.resourceBulk().length;
    }

    /** Writes a command; returns its encoding. */
    CommandEncoding write(ByteBuf out, LockRequest command, CommandKind kind) {
        if (kind == CommandKind.ACQUIRE) {
            writeSet(out, command);
            return CommandEncoding.PLAIN_SET;
        }
        out.writeBytes(kind == CommandKind.EXTEND ? EXTEND : RELEASE);
        out.writeBytes(command.resourceBulk()).writeBytes(command.token.bulk);
        if (kind == CommandKind.EXTEND) {
            writeTtl(out, command.ttlMs);
        }
        return CommandEncoding.SCRIPT;
    }

    /** {@code SET key token NX PX ttl}. */
    void writeSet(ByteBuf out, LockRequest command) {
        out.writeBytes(SET).writeBytes(command.resourceBulk()).writeBytes(command.token.bulk).writeBytes(NX_PX);
        writeTtl(out, command.ttlMs);
    }

    private void writeTtl(ByteBuf out, long newTtlMs) {
        if (newTtlMs != ttlMs) {
            ttlMs = newTtlMs;
            RespWriter.bulkInteger(ttl.clear(), newTtlMs);
        }
        out.writeBytes(ttl, 0, ttl.writerIndex());
    }
}
