package dev.redlock.node;

import dev.redlock.quorum.Token;
import dev.redlock.resp.RespWriter;
import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;

/**
 * The scripts, and the commands that run them. The parts that are the same for every lock are encoded once, when this
 * class is loaded. So writing a command is three or four copies into the caller's buffer.
 *
 * @threading immutable
 */
final class LockScripts {

    /** Bytes of a command without its keys: prefix, numbers, and the value, which a native extension has twice. */
    static final int COMMAND_OVERHEAD_BYTES = 256 + 2 * Token.LABEL_LENGTH_MAX;

    /** The commands with a script. */
    static final List<CommandKind> SCRIPTED = Stream.of(CommandKind.values()).filter(CommandKind::isScript).toList();

    private static final int KIND_COUNT = CommandKind.values().length;
    private static final byte[][] SOURCES = new byte[KIND_COUNT][];
    private static final byte[][] EVALSHA = new byte[KIND_COUNT][];
    private static final byte[][] EVAL = new byte[KIND_COUNT][];
    /** {@code $19}, the digits of the greatest long, two line ends: a node may reply with more than 2^53 - 1. */
    private static final int NUMBER_BULK_BYTES = 5 + 19 + 2;
    private static final byte[][] BATCH_EVALSHA = new byte[KIND_COUNT][];
    private static final byte[][] BATCH_EVAL = new byte[KIND_COUNT][];

    static {
        for (CommandKind kind : SCRIPTED) {
            byte[] source = load(kind.scriptName);
            SOURCES[kind.ordinal()] = source;
            EVALSHA[kind.ordinal()] = prefix(kind, "EVALSHA", ascii(sha1Hex(source)));
            EVAL[kind.ordinal()] = prefix(kind, "EVAL", source);
            BATCH_EVALSHA[kind.ordinal()] = evalShaHead(source);
            BATCH_EVAL[kind.ordinal()] = evalHead(source);
        }
    }

    private LockScripts() {
    }

    /** {@code $7 EVALSHA $40 <sha>}: the first words of a command that runs a cached script. */
    static byte[] evalShaHead(byte[] source) {
        return ascii("$7\r\nEVALSHA\r\n$40\r\n" + sha1Hex(source) + "\r\n");
    }

    /** {@code $4 EVAL <source>}: the first words of a command that runs and caches a script. */
    static byte[] evalHead(byte[] source) {
        return ascii("$4\r\nEVAL\r\n$" + source.length + "\r\n" + new String(source, StandardCharsets.US_ASCII)
                + "\r\n");
    }

    static byte[] load(String name) {
        try (InputStream in = LockScripts.class.getResourceAsStream(name + ".lua")) {
            if (in == null) {
                throw new IllegalStateException("script " + name + ".lua is missing from the redlock-core jar");
            }
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException("script " + name + ".lua cannot be read from the redlock-core jar", e);
        }
    }

    /** The name of a script in the cache of Redis: the SHA-1 of its bytes, in lower-case hex. */
    static String sha1Hex(byte[] source) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-1").digest(source));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this JDK has no SHA-1, which Redis names scripts by", e);
        }
    }

    /** {@code *6 $7 EVALSHA $40 <sha> $1 1}: the bytes before the key. */
    private static byte[] prefix(CommandKind kind, String command, byte[] script) {
        int keyCount = kind.hasCounter ? 2 : 1;
        int count = 3 + keyCount + 1 + kind.argumentCount;
        byte[] head = ascii("*" + count + "\r\n$" + command.length() + "\r\n" + command + "\r\n$" + script.length
                + "\r\n");
        byte[] tail = ascii("\r\n$1\r\n" + keyCount + "\r\n");
        byte[] prefix = new byte[head.length + script.length + tail.length];
        System.arraycopy(head, 0, prefix, 0, head.length);
        System.arraycopy(script, 0, prefix, head.length, script.length);
        System.arraycopy(tail, 0, prefix, head.length + script.length, tail.length);
        return prefix;
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    /** The script's source for plain locks, borrowed. */
    static byte[] source(CommandKind kind) {
        return SOURCES[kind.ordinal()];
    }

    /** The script's source for a kind of lock, borrowed. */
    static byte[] source(LockKind lock, CommandKind kind) {
        return lock == LockKind.PLAIN ? source(kind) : KindScripts.of(lock).source(kind);
    }

    /** Writes the command that runs the cached script. */
    static void writeEvalSha(ByteBuf out, CommandKind kind, LockRequest command) {
        if (command.lockKind() == LockKind.PLAIN) {
            write(out, EVALSHA[kind.ordinal()], kind, command);
        } else {
            KindScripts.of(command.lockKind()).write(out, kind, command, false);
        }
    }

    /** Writes the command with the whole script, for a node that has not cached it. */
    static void writeEval(ByteBuf out, CommandKind kind, LockRequest command) {
        if (command.lockKind() == LockKind.PLAIN) {
            write(out, EVAL[kind.ordinal()], kind, command);
        } else {
            KindScripts.of(command.lockKind()).write(out, kind, command, true);
        }
    }

    private static void write(ByteBuf out, byte[] prefix, CommandKind kind,
            LockRequest command) {
        if (!kind.isScript()) {
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
        out.writeBytes(command.token().bulk());
        switch (kind) {
            case ACQUIRE, EXTEND, SHORTEN -> RespWriter.bulkInteger(out, command.ttlMs());
            case ACQUIRE_FENCED -> {
                RespWriter.bulkInteger(out, command.ttlMs());
                RespWriter.bulkInteger(out, command.counterTtlMs());
            }
            case ACQUIRE_WITH_TICKET -> {
                RespWriter.bulkInteger(out, command.ttlMs());
                RespWriter.bulkInteger(out, command.ticket());
                out.writeBytes(command.counterBulk());
            }
            case ACQUIRE_FENCED_WITH_TICKET -> {
                RespWriter.bulkInteger(out, command.ttlMs());
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
                throw new IllegalArgumentException("use writeBatch for a batch");
        }
    }

    /** {@code EVALSHA <sha> 1 key token}, or {@code EVAL} with the script. */
    static void writeRelease(ByteBuf out, UndeliveredRelease release, boolean isEval) {
        if (release.lockKind() != LockKind.PLAIN) {
            KindScripts.of(release.lockKind()).writeRelease(out, release, isEval);
            return;
        }
        out.writeBytes((isEval ? EVAL : EVALSHA)[CommandKind.RELEASE.ordinal()]);
        out.writeBytes(release.resourceBulk());
        out.writeBytes(release.token().bulk());
    }

    /** Capacity for a release. */
    static int roomFor(UndeliveredRelease release, boolean isEval) {
        int script = isEval ? source(release.lockKind(), CommandKind.RELEASE).length : 0;
        return COMMAND_OVERHEAD_BYTES + script + release.resourceBulk().length;
    }

    /** Capacity for a batch, by {@code EVALSHA} or {@code EVAL}. */
    static int roomFor(CommandBatch batch, boolean isEval) {
        int script = isEval ? SOURCES[batch.kind().ordinal()].length : 0;
        boolean hasNumbers = batch.kind() != CommandKind.RELEASE_MANY;
        int numberBytes = hasNumbers ? batch.length() * NUMBER_BULK_BYTES : 0;
        return COMMAND_OVERHEAD_BYTES + script + batch.keyBytes() + batch.valueBytes() + numberBytes;
    }

    /** Capacity for the members of a batch, together or each in a command of its own. */
    static int roomForEach(CommandBatch batch) {
        return batch.keyBytes() + batch.length() * (COMMAND_OVERHEAD_BYTES + WakeUpRequest.COMMAND_BYTES);
    }

    /**
     * {@code EVALSHA <sha> K key1 ... keyK token1 ... tokenK} for some members of a batch, or {@code EVAL} with the
     * script. A fenced batch has {@code counter1 ... counterK} after the keys, and the highest values and the counters'
     * expiry after the tokens. Extensions have their ttls after the tokens.
     *
     * @param members member i as bit i
     */
    static void writeBatch(ByteBuf out, CommandBatch batch, long members, boolean isEval) {
        int length = Long.bitCount(members);
        boolean isFenced = batch.kind().hasCounter;
        boolean isExtension = batch.kind() == CommandKind.EXTEND_MANY;
        RespWriter.arrayHeader(out, 3 + (isFenced ? 4 * length + 1 : (isExtension ? 3 : 2) * length));
        out.writeBytes((isEval ? BATCH_EVAL : BATCH_EVALSHA)[batch.kind().ordinal()]);
        RespWriter.bulkInteger(out, isFenced ? 2 * length : length);
        for (long left = members; left != 0; left &= left - 1) {
            out.writeBytes(batch.member(Long.numberOfTrailingZeros(left)).resourceBulk());
        }
        for (long left = isFenced ? members : 0; left != 0; left &= left - 1) {
            out.writeBytes(batch.member(Long.numberOfTrailingZeros(left)).counterBulk());
        }
        for (long left = members; left != 0; left &= left - 1) {
            out.writeBytes(batch.member(Long.numberOfTrailingZeros(left)).token().bulk());
        }
        for (long left = isFenced ? members : 0; left != 0; left &= left - 1) {
            RespWriter.bulkInteger(out, batch.member(Long.numberOfTrailingZeros(left)).highestFence());
        }
        if (isFenced) {
            RespWriter.bulkInteger(out, batch.member(0).counterTtlMs());
        }
        for (long left = isExtension ? members : 0; left != 0; left &= left - 1) {
            RespWriter.bulkInteger(out, batch.member(Long.numberOfTrailingZeros(left)).ttlMs());
        }
    }
}
