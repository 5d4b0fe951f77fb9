package dev.redlock.node.send;

import dev.redlock.quorum.Token;
import dev.redlock.resp.RespWriter;
import io.netty.buffer.ByteBuf;

/**
 * The native encodings that only some nodes, or few commands, have. Only {@code MSETEX} may be longer than its script's
 * {@code EVALSHA}.
 *
 * @threading immutable
 */
final class NativeCommands {

    private static final byte[] SET_IFEQ = ScriptSources.ascii("*7\r\n$3\r\nSET\r\n");
    private static final byte[] IFEQ = ScriptSources.ascii("$4\r\nIFEQ\r\n");
    private static final byte[] PX = ScriptSources.ascii("$2\r\nPX\r\n");
    private static final byte[] DELEX = ScriptSources.ascii("*4\r\n$5\r\nDELEX\r\n");
    private static final byte[] PTTL = ScriptSources.ascii("*2\r\n$4\r\nPTTL\r\n");
    private static final byte[] TYPE = ScriptSources.ascii("*2\r\n$4\r\nTYPE\r\n");
    private static final byte[] GET = ScriptSources.ascii("*2\r\n$3\r\nGET\r\n");
    private static final byte[] ZRANK = ScriptSources.ascii("*3\r\n$5\r\nZRANK\r\n");
    private static final byte[] ZCARD = ScriptSources.ascii("*2\r\n$5\r\nZCARD\r\n");
    private static final byte[] SET_TRACE = ScriptSources.ascii("*5\r\n$3\r\nSET\r\n");
    private static final byte[] PEXPIRE = ScriptSources.ascii("*3\r\n$7\r\nPEXPIRE\r\n");
    private static final byte[] TRACE_TTL = ScriptSources.ascii("$5\r\n60000\r\n");
    private static final byte[] QUEUE = ScriptSources.ascii(":queue\r\n");
    private static final byte[] TRACE = ScriptSources.ascii(":trace\r\n");
    /** The highest place of a digit in the length of a name. */
    private static final int LENGTH_UNIT_MAX = 1_000_000;
    private static final byte[] MSETEX = ScriptSources.ascii("$6\r\nMSETEX\r\n");
    private static final byte[] DELIFEQ = ScriptSources.ascii("*3\r\n$7\r\nDELIFEQ\r\n");

    private NativeCommands() {
    }

    /** Writes a command with its detail, which the type of a key needs. */
    static void write(ByteBuf out, CommandEncoding encoding, LockRequest command, int detail) {
        switch (encoding) {
            case SET_IFEQ -> writeSetIfEqual(out, command);
            case MSETEX -> writeSetAllIfAbsent(out, command);
            case DELEX, DELIFEQ -> writeRelease(out, encoding, command.resourceBulk(), command.token);
            case PTTL -> out.writeBytes(PTTL).writeBytes(command.resourceBulk());
            case TYPE -> out.writeBytes(TYPE).writeBytes(command.resourceBulk(detail));
            case GET -> writeBeside(out.writeBytes(GET), command.counterBulk(), TRACE);
            case ZRANK -> {
                writeBeside(out.writeBytes(ZRANK), command.counterBulk(), QUEUE);
                out.writeBytes(command.arguments().waiterBulk());
            }
            case ZCARD -> writeBeside(out.writeBytes(ZCARD), command.counterBulk(), QUEUE);
            case SET_TRACE -> {
                writeBeside(out.writeBytes(SET_TRACE), command.counterBulk(), TRACE);
                RespWriter.bulkInteger(out.writeBytes(command.token.bulk).writeBytes(PX), command.ttlMs);
            }
            case PEXPIRE_TRACE -> {
                writeBeside(out.writeBytes(PEXPIRE), command.counterBulk(), TRACE);
                out.writeBytes(TRACE_TTL);
            }
            case SCRIPT, PLAIN_SET -> throw new IllegalArgumentException(encoding + " is written elsewhere");
        }
    }

    /** {@code DELEX key IFEQ token} or {@code DELIFEQ key token}. */
    static void writeRelease(ByteBuf out, CommandEncoding encoding, byte[] resourceBulk, Token token) {
        if (encoding == CommandEncoding.DELEX) {
            out.writeBytes(DELEX).writeBytes(resourceBulk).writeBytes(IFEQ);
        } else {
            out.writeBytes(DELIFEQ).writeBytes(resourceBulk);
        }
        out.writeBytes(token.bulk);
    }

    /** The name of a key beside the counter, as {@code counter:queue}, which the scripts use. */
    private static void writeBeside(ByteBuf out, byte[] counterBulk, byte[] ending) {
        int start = 1;
        while (counterBulk[start - 1] != '\n') {
            start++;
        }
        int nameLength = counterBulk.length - start - 2;
        int length = nameLength + ending.length - 2;
        out.writeByte('$');
        for (int unit = LENGTH_UNIT_MAX; unit > 0; unit /= 10) {
            if (length >= unit) {
                out.writeByte('0' + length / unit % 10);
            }
        }
        out.writeShort('\r' << 8 | '\n').writeBytes(counterBulk, start, nameLength).writeBytes(ending);
    }

    /** {@code MSETEX K key1 token ... keyK token NX PX ttl}. */
    private static void writeSetAllIfAbsent(ByteBuf out, LockRequest command) {
        int keyCount = command.keyCount();
        RespWriter.arrayHeader(out, 2 + 2 * keyCount + 3);
        out.writeBytes(MSETEX);
        RespWriter.bulkInteger(out, keyCount);
        for (int i = 0; i < keyCount; i++) {
            out.writeBytes(command.resourceBulk(i));
            out.writeBytes(command.token.bulk);
        }
        out.writeBytes(PlainCommands.NX_PX);
        RespWriter.bulkInteger(out, command.ttlMs);
    }

    /** {@code MSETEX K key1 token1 ... keyK tokenK NX PX ttl} for some requests, which all have the ttl. */
    static void writeAcquires(ByteBuf out, CommandBatch commands, long mask) {
        int count = Long.bitCount(mask);
        RespWriter.arrayHeader(out, 2 + 2 * count + 3);
        out.writeBytes(MSETEX);
        RespWriter.bulkInteger(out, count);
        for (long left = mask; left != 0; left &= left - 1) {
            LockRequest request = commands.request(Long.numberOfTrailingZeros(left));
            out.writeBytes(request.resourceBulk()).writeBytes(request.token.bulk);
        }
        out.writeBytes(PlainCommands.NX_PX);
        RespWriter.bulkInteger(out, commands.request(0).ttlMs);
    }

    /** {@code SET key token IFEQ token PX ttl}. */
    private static void writeSetIfEqual(ByteBuf out, LockRequest command) {
        out.writeBytes(SET_IFEQ).writeBytes(command.resourceBulk());
        out.writeBytes(command.token.bulk);
        out.writeBytes(IFEQ);
        out.writeBytes(command.token.bulk);
        out.writeBytes(PX);
        RespWriter.bulkInteger(out, command.ttlMs);
    }
}
