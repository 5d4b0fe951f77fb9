package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The exact bytes of each command. */
class LockScriptsTest {

    private static final String RESOURCE = "$9\r\norders/42\r\n";
    /** Bytes that a token may have and a text may not. */
    private static final String TOKEN = "\u0000\u0001\r\n\u007f\u0080\u00ff*$\"abcdefghij";

    private static String text(final ByteBuf buf) {
        final String text = buf.toString(StandardCharsets.ISO_8859_1);
        buf.release();
        return text;
    }

    private static StubRequest request(final long ttlMs) {
        final byte[] token = TOKEN.getBytes(StandardCharsets.ISO_8859_1);
        final ByteBuf bytes = Unpooled.wrappedBuffer(token);
        final StubRequest request = new StubRequest(RESOURCE, ttlMs);
        request.token().set(bytes.getLong(0), bytes.getLong(8), bytes.getInt(16));
        return request;
    }

    private static String sha(final CommandKind kind) {
        return LockScripts.sha1Hex(LockScripts.source(kind));
    }

    private static void assertWritten(final CommandKind kind, final int words, final int keys, final String counter,
            final String arguments) {
        final ByteBuf out = Unpooled.buffer();
        LockScripts.writeEvalSha(out, kind, request(30_000));
        assertEquals("*" + words + "\r\n$7\r\nEVALSHA\r\n$40\r\n" + sha(kind) + "\r\n$1\r\n" + keys + "\r\n" + RESOURCE
                + counter + "$20\r\n" + TOKEN + "\r\n" + arguments, text(out));
    }

    @Test
    void writesPlainCommands() {
        assertWritten(CommandKind.ACQUIRE, 6, 1, "", "$5\r\n30000\r\n");
        assertWritten(CommandKind.EXTEND, 6, 1, "", "$5\r\n30000\r\n");
        assertWritten(CommandKind.RELEASE, 5, 1, "", "");
    }

    @Test
    void writesNativeCommands() {
        final String token = "$20\r\n" + TOKEN + "\r\n";
        assertEquals("*6\r\n$3\r\nSET\r\n" + RESOURCE + token + "$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n",
                written(CommandEncoding.PLAIN_SET));
        assertEquals("*4\r\n$5\r\nDELEX\r\n" + RESOURCE + "$4\r\nIFEQ\r\n" + token, written(CommandEncoding.DELEX));
        assertEquals("*3\r\n$7\r\nDELIFEQ\r\n" + RESOURCE + token, written(CommandEncoding.DELIFEQ));
        assertEquals("*7\r\n$3\r\nSET\r\n" + RESOURCE + token + "$4\r\nIFEQ\r\n" + token
                + "$2\r\nPX\r\n$5\r\n30000\r\n", written(CommandEncoding.SET_IFEQ));
    }

    @Test
    void writesATtlQuery() {
        assertEquals("*2\r\n$4\r\nPTTL\r\n" + RESOURCE, written(CommandEncoding.PTTL));
    }

    private static String written(final CommandEncoding encoding) {
        final ByteBuf out = Unpooled.buffer();
        NativeCommands.write(out, encoding, request(30_000));
        assertTrue(out.readableBytes() <= LockScripts.COMMAND_OVERHEAD_BYTES + RESOURCE.length(), encoding::name);
        return text(out);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 10, 64})
    void writesABatchOfReleases(final int length) {
        final ReleaseBatch batch = new ReleaseBatch(CommandKind.RELEASE_MANY);
        for (int i = 0; i < length; i++) {
            batch.add(request(1));
        }
        final ByteBuf out = Unpooled.buffer();
        LockScripts.writeBatch(out, batch, false);
        assertTrue(out.readableBytes() <= LockScripts.roomFor(batch, false), "room");
        final String keysAndTokens = RESOURCE.repeat(length) + ("$20\r\n" + TOKEN + "\r\n").repeat(length);
        final String count = "$" + Integer.toString(length).length() + "\r\n" + length + "\r\n";
        assertEquals("*" + (3 + 2 * length) + "\r\n$7\r\nEVALSHA\r\n$40\r\n" + sha(CommandKind.RELEASE_MANY) + "\r\n"
                + count + keysAndTokens, text(out));
        final String source = new String(LockScripts.source(CommandKind.RELEASE_MANY), StandardCharsets.UTF_8);
        final ByteBuf eval = Unpooled.buffer();
        LockScripts.writeBatch(eval, batch, true);
        assertTrue(eval.readableBytes() <= LockScripts.roomFor(batch, true), "room");
        assertEquals("*" + (3 + 2 * length) + "\r\n$4\r\nEVAL\r\n$" + source.length() + "\r\n" + source + "\r\n"
                + count + keysAndTokens, text(eval));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 10, 64})
    void writesABatchOfFencedReleases(final int length) {
        final ReleaseBatch batch = new ReleaseBatch(CommandKind.RELEASE_MANY_FENCED);
        for (int i = 0; i < length; i++) {
            batch.add(request(1));
        }
        final String counters = "$7\r\ncounter\r\n".repeat(length);
        final String arguments = ("$20\r\n" + TOKEN + "\r\n").repeat(length)
                + "$16\r\n9007199254740991\r\n".repeat(length) + "$8\r\n86400000\r\n";
        final String count = "$" + Integer.toString(2 * length).length() + "\r\n" + 2 * length + "\r\n";
        final ByteBuf out = Unpooled.buffer();
        LockScripts.writeBatch(out, batch, false);
        assertTrue(out.readableBytes() <= LockScripts.roomFor(batch, false), "room");
        assertEquals("*" + (3 + 4 * length + 1) + "\r\n$7\r\nEVALSHA\r\n$40\r\n" + sha(CommandKind.RELEASE_MANY_FENCED)
                + "\r\n" + count + RESOURCE.repeat(length) + counters + arguments, text(out));
        final ByteBuf eval = Unpooled.buffer();
        LockScripts.writeBatch(eval, batch, true);
        assertTrue(eval.readableBytes() <= LockScripts.roomFor(batch, true), "room");
    }

    @Test
    void writesFencedCommands() {
        final String counter = "$7\r\ncounter\r\n";
        final String highest = "$16\r\n9007199254740991\r\n";
        assertWritten(CommandKind.ACQUIRE_FENCED, 8, 2, counter, "$5\r\n30000\r\n$8\r\n86400000\r\n");
        assertWritten(CommandKind.RAISE, 8, 2, counter, highest + "$8\r\n86400000\r\n");
        assertWritten(CommandKind.RELEASE_FENCED, 8, 2, counter, highest + "$8\r\n86400000\r\n");
    }

    @ParameterizedTest
    @EnumSource(value = CommandKind.class, mode = EnumSource.Mode.EXCLUDE,
            names = {"RELEASE_MANY", "RELEASE_MANY_FENCED", "REMAINING_TTL"})
    void writesEvalWithTheScriptInPlaceOfItsSha(final CommandKind kind) {
        final String source = new String(LockScripts.source(kind), StandardCharsets.UTF_8);
        final ByteBuf bySha = Unpooled.buffer();
        final ByteBuf bySource = Unpooled.buffer();
        LockScripts.writeEvalSha(bySha, kind, request(86_400_000));
        LockScripts.writeEval(bySource, kind, request(86_400_000));
        assertEquals(text(bySha)
                .replace("$7\r\nEVALSHA\r\n$40\r\n" + sha(kind), "$4\r\nEVAL\r\n$" + source.length() + "\r\n" + source),
                text(bySource));
    }

    @ParameterizedTest
    @EnumSource(value = CommandKind.class, mode = EnumSource.Mode.EXCLUDE,
            names = {"RELEASE_MANY", "RELEASE_MANY_FENCED", "REMAINING_TTL"})
    void theCapacityIsEnoughForEachCommand(final CommandKind kind) {
        final ByteBuf out = Unpooled.buffer();
        LockScripts.writeEvalSha(out, kind, request(86_400_000));
        final int length = out.readableBytes();
        out.release();
        final int names = RESOURCE.length() + (kind.hasCounter() ? request(1).counterBulk().length : 0);
        assertTrue(length <= LockScripts.COMMAND_OVERHEAD_BYTES + names, kind + " has " + length);
    }

    @ParameterizedTest
    @EnumSource(value = CommandKind.class, mode = EnumSource.Mode.EXCLUDE, names = "REMAINING_TTL")
    void theCommentOfEachScriptListsKeysArgumentsAndReplies(final CommandKind kind) {
        final String source = new String(LockScripts.source(kind), StandardCharsets.US_ASCII);
        assertTrue(source.startsWith("-- "), source);
        final boolean isMany = kind == CommandKind.RELEASE_MANY || kind == CommandKind.RELEASE_MANY_FENCED;
        final String index = isMany ? "i" : "1";
        for (final String word : new String[]{"-- KEYS[" + index + "] resource", "-- ARGV[" + index + "] token",
            "-- reply "}) {
            assertTrue(source.contains(word), word);
        }
        assertEquals(kind.hasCounter(), source.contains(isMany ? "KEYS[n + i] counter" : "KEYS[2] counter"));
        for (int i = 2; i <= 4; i++) {
            assertEquals(i <= 1 + kind.argumentCount(), source.contains("ARGV[" + i + "]"), kind + " ARGV " + i);
        }
    }

    @Test
    void theShaIsOfTheBytesInLowerCase() {
        assertEquals("da39a3ee5e6b4b0d3255bfef95601890afd80709", LockScripts.sha1Hex(new byte[0]));
        assertEquals("e0e1f9fabfc9d4800c877a703b823ac0578ff8db",
                LockScripts.sha1Hex("return 1".getBytes(StandardCharsets.US_ASCII)));
    }

    @Test
    void allCommandsButReleasesAndTtlQueriesAreVotes() {
        for (final CommandKind kind : CommandKind.values()) {
            assertEquals(!kind.name().startsWith("RELEASE") && kind != CommandKind.REMAINING_TTL, kind.isVote(),
                    kind::name);
            assertEquals(kind == CommandKind.ACQUIRE || kind == CommandKind.ACQUIRE_FENCED, kind.isAcquire(),
                    kind::name);
        }
    }

    /** A correct server never reaches these numbers; a faulty one must not make a buffer too small. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void theCapacityIsEnoughForABatchOfTheLongestNumbers(final boolean isEval) {
        final ReleaseBatch batch = new ReleaseBatch(CommandKind.RELEASE_MANY_FENCED);
        for (int i = 0; i < ReleaseBatch.LENGTH_MAX; i++) {
            batch.add(new StubRequest(RESOURCE, 30_000) {
                @Override
                public long highestFence() {
                    return Long.MAX_VALUE;
                }

                @Override
                public long counterTtlMs() {
                    return 315_360_000_000L;
                }
            });
        }
        final int room = LockScripts.roomFor(batch, isEval);
        final ByteBuf out = Unpooled.buffer(room, room);
        LockScripts.writeBatch(out, batch, isEval);
        assertEquals(room, out.capacity());
        out.release();
    }
}
