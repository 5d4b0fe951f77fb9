package dev.redlock.node;

import dev.redlock.resp.RespWriter;
import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * The lock's scripts and the commands that run them. Everything that is the same for every lock is encoded once, when
 * this
 * class is loaded; writing a command is three or four copies into the caller's buffer.
 *
 * @threading immutable
 */
final class LockScripts {

    /** Room that a command needs beside its resource, as {@code EVALSHA}: prefix, token, numbers. */
    static final int COMMAND_OVERHEAD_BYTES = 224;

    private static final Verb[] VERBS = Verb.values();
    private static final byte[][] SOURCES = new byte[VERBS.length][];
    private static final byte[][] EVALSHA = new byte[VERBS.length][];
    private static final byte[][] EVAL = new byte[VERBS.length][];
    private static final byte[] TOKEN_PREFIX = ascii("$20\r\n");
    private static final int CRLF = '\r' << 8 | '\n';

    static {
        for (final Verb verb : VERBS) {
            final byte[] source = load(verb.scriptName());
            SOURCES[verb.ordinal()] = source;
            EVALSHA[verb.ordinal()] = prefix(verb, "EVALSHA", ascii(sha1Hex(source)));
            EVAL[verb.ordinal()] = prefix(verb, "EVAL", source);
        }
    }

    private LockScripts() {
    }

    private static byte[] load(final String name) {
        try (InputStream in = LockScripts.class.getResourceAsStream(name + ".lua")) {
            if (in == null) {
                throw new IllegalStateException("script " + name + ".lua is missing from the redlock-core jar");
            }
            return in.readAllBytes();
        } catch (final IOException e) {
            throw new UncheckedIOException("script " + name + ".lua cannot be read", e);
        }
    }

    /** The name under which Redis caches a script: the SHA-1 of its bytes, in lower-case hex. */
    static String sha1Hex(final byte[] source) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-1").digest(source));
        } catch (final NoSuchAlgorithmException e) {
            throw new IllegalStateException("this JDK has no SHA-1, which names scripts in Redis", e);
        }
    }

    /** {@code *6 $7 EVALSHA $40 <sha> $1 1}: all that stands before the key. */
    private static byte[] prefix(final Verb verb, final String command, final byte[] script) {
        final int keyCount = verb.hasCounter() ? 2 : 1;
        final int count = 3 + keyCount + 1 + verb.argumentCount();
        final byte[] head = ascii("*" + count + "\r\n$" + command.length() + "\r\n" + command + "\r\n$" + script.length
                + "\r\n");
        final byte[] tail = ascii("\r\n$1\r\n" + keyCount + "\r\n");
        final byte[] prefix = new byte[head.length + script.length + tail.length];
        System.arraycopy(head, 0, prefix, 0, head.length);
        System.arraycopy(script, 0, prefix, head.length, script.length);
        System.arraycopy(tail, 0, prefix, head.length + script.length, tail.length);
        return prefix;
    }

    private static byte[] ascii(final String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    /** The script's source, borrowed. */
    static byte[] source(final Verb verb) {
        return SOURCES[verb.ordinal()];
    }

    /** Writes the command that runs the cached script. */
    static void writeEvalSha(final ByteBuf out, final Verb verb, final LockRequest request) {
        write(out, EVALSHA[verb.ordinal()], verb, request);
    }

    /** Writes the command that carries the whole script, for a node that does not have it. */
    static void writeEval(final ByteBuf out, final Verb verb, final LockRequest request) {
        write(out, EVAL[verb.ordinal()], verb, request);
    }

    private static void write(final ByteBuf out, final byte[] prefix, final Verb verb, final LockRequest request) {
        out.writeBytes(prefix);
        out.writeBytes(request.resourceBulk());
        if (verb.hasCounter()) {
            out.writeBytes(request.counterBulk());
        }
        out.writeBytes(TOKEN_PREFIX);
        out.writeLong(request.token().high()).writeLong(request.token().middle()).writeInt(request.token().low());
        out.writeShort(CRLF);
        switch (verb) {
            case ACQUIRE, EXTEND -> RespWriter.bulkInteger(out, request.ttlMs());
            case ACQUIRE_FENCED -> {
                RespWriter.bulkInteger(out, request.ttlMs());
                RespWriter.bulkInteger(out, request.counterTtlMs());
            }
            case RAISE, RELEASE_FENCED -> {
                RespWriter.bulkInteger(out, request.highestFence());
                RespWriter.bulkInteger(out, request.counterTtlMs());
            }
            case RELEASE -> {
                // the token is all it needs
            }
        }
    }
}
