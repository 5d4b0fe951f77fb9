package dev.redlock.node.send;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.quorum.Token;
import dev.redlock.sim.ScriptNames;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The exact bytes of each command. */
class LockScriptsTest {

    private static final String RESOURCE = "$9\r\norders/42\r\n";
    /** Bytes that a token may have and a text may not. */
    private static final String TOKEN = "\u0000\u0001\r\n\u007f\u0080\u00ff*$\"abcdefghij";

    private static final String CLIENT = "$32\r\n0123456789abcdefghijABCDEFGHIJ_-\r\n";
    /** The last arguments of a client that waits: its name, its time in us, and the mode. */
    private static final String WAITER = CLIENT + "$11\r\n86400000000\r\n$1\r\nc\r\n";

    private static final int REPEATED_LINES_MAX = 6;
    /** The scripts without a command of a lock. */
    private static final List<String> OF_PEOPLE = List.of("break", "inspect");

    private static String text(ByteBuf buf) {
        String text = buf.toString(StandardCharsets.ISO_8859_1);
        buf.release();
        return text;
    }

    private static StubRequest request(long ttlMs) {
        return request(ttlMs, null);
    }

    private static StubRequest request(long ttlMs, String name) {
        StubRequest request = new StubRequest(RESOURCE, ttlMs, name);
        System.arraycopy(TOKEN.getBytes(StandardCharsets.ISO_8859_1), 0, request.token.bulk, 5, Token.LENGTH);
        return request;
    }

    /** The model servers find the effect of each script by its name. */
    @Test
    void theModelNamesEachScript() {
        SortedSet<String> names = new TreeSet<>(OF_PEOPLE);
        for (String name : OF_PEOPLE) {
            assertEquals(name, ScriptNames.ofSha(ScriptSources.sha1Hex(ScriptSources.load(name))));
        }
        for (LockKind lock : LockKind.values()) {
            for (CommandKind command : CommandKind.values()) {
                String name = lock.scriptName(command);
                if (name != null) {
                    assertEquals(name, ScriptNames.ofSha(ScriptSources.sha1Hex(ScriptSources.source(lock, command))));
                    names.add(name);
                }
            }
        }
        assertEquals(names, ScriptNames.all());
    }

    private static String sha(CommandKind kind) {
        return ScriptSources.sha1Hex(ScriptSources.source(kind));
    }

    private static void assertWritten(CommandKind kind, int words, int keys, String counter,
            String arguments) {
        ByteBuf out = Unpooled.buffer();
        LockScripts.write(out, kind, request(30_000), false);
        assertEquals("*" + words + "\r\n$7\r\nEVALSHA\r\n$40\r\n" + sha(kind) + "\r\n$1\r\n" + keys + "\r\n" + RESOURCE
                + counter + "$20\r\n" + TOKEN + "\r\n" + arguments, text(out));
    }

    @Test
    void writesPlainCommands() {
        assertWritten(CommandKind.ACQUIRE, 6, 1, "", "$5\r\n30000\r\n");
        assertWritten(CommandKind.ACQUIRE_IN_ORDER, 10, 1, "", "$5\r\n30000\r\n$7\r\ncounter\r\n" + WAITER);
        assertWritten(CommandKind.LEAVE_QUEUE, 7, 1, "", "$7\r\ncounter\r\n" + CLIENT);
        assertWritten(CommandKind.EXTEND, 6, 1, "", "$5\r\n30000\r\n");
        assertWritten(CommandKind.SHORTEN, 6, 1, "", "$5\r\n30000\r\n");
        assertWritten(CommandKind.RELEASE, 5, 1, "", "");
    }

    @Test
    void writesNativeCommands() {
        String token = "$20\r\n" + TOKEN + "\r\n";
        assertEquals("*4\r\n$5\r\nDELEX\r\n" + RESOURCE + "$4\r\nIFEQ\r\n" + token, written(CommandEncoding.DELEX));
        assertEquals("*3\r\n$7\r\nDELIFEQ\r\n" + RESOURCE + token, written(CommandEncoding.DELIFEQ));
        assertEquals("*7\r\n$3\r\nSET\r\n" + RESOURCE + token + "$4\r\nIFEQ\r\n" + token
                + "$2\r\nPX\r\n$5\r\n30000\r\n", written(CommandEncoding.SET_IFEQ));
    }

    @Test
    void writesTheThreePlainCommandsWithChangingTtls() {
        PlainCommands commands = new PlainCommands();
        for (long ttlMs : new long[]{30_000, 30_000, 1, 86_400_000, 30_000}) {
            StubRequest request = request(ttlMs, "o");
            String value = "$22\r\n" + TOKEN + "@o\r\n";
            String ttl = "$" + Long.toString(ttlMs).length() + "\r\n" + ttlMs + "\r\n";
            ByteBuf out = Unpooled.buffer(PlainCommands.roomFor(request), PlainCommands.roomFor(request));
            assertEquals(CommandEncoding.PLAIN_SET, commands.write(out, request, CommandKind.ACQUIRE));
            assertEquals("*6\r\n$3\r\nSET\r\n" + RESOURCE + value + "$2\r\nNX\r\n$2\r\nPX\r\n" + ttl, text(out));
            for (CommandKind kind : new CommandKind[]{CommandKind.EXTEND, CommandKind.RELEASE}) {
                ByteBuf script = Unpooled.buffer();
                ByteBuf expected = Unpooled.buffer();
                assertEquals(CommandEncoding.SCRIPT, commands.write(script, request, kind));
                LockScripts.write(expected, kind, request, false);
                assertEquals(text(expected), text(script));
            }
        }
    }

    /** The value with a name, in every command that has the value: the same bytes otherwise. */
    @ParameterizedTest
    @ValueSource(strings = {"o", "orders-12", "0123456789012345678901234567890123456789012345678901234567890123"})
    void writesTheNameAfterTheToken(String name) {
        StubRequest plain = request(86_400_000);
        StubRequest named = request(86_400_000, name);
        String value = "$" + (21 + name.length()) + "\r\n" + TOKEN + "@" + name + "\r\n";
        for (CommandKind kind : ScriptSources.SCRIPTED) {
            if (kind.single() == kind) {
                int room = LockScripts.roomFor(named, kind);
                ByteBuf out = Unpooled.buffer();
                ByteBuf expected = Unpooled.buffer();
                LockScripts.write(out, kind, named, false);
                LockScripts.write(expected, kind, plain, false);
                assertTrue(out.readableBytes() <= room, () -> kind + " needs more than " + room);
                assertEquals(withName(text(expected), value), text(out), kind::name);
            }
        }
        for (CommandEncoding encoding : new CommandEncoding[]{CommandEncoding.DELEX, CommandEncoding.DELIFEQ,
            CommandEncoding.SET_IFEQ}) {
            int room = LockScripts.roomFor(named, CommandKind.EXTEND);
            ByteBuf out = Unpooled.buffer(room, room);
            ByteBuf expected = Unpooled.buffer();
            NativeCommands.write(out, encoding, named, 0);
            NativeCommands.write(expected, encoding, plain, 0);
            assertEquals(withName(text(expected), value), text(out), encoding::name);
        }
        UndeliveredRelease release = new UndeliveredRelease(null, named);
        ByteBuf out = Unpooled.buffer();
        ByteBuf expected = Unpooled.buffer();
        LockScripts.writeRelease(out, release, false);
        LockScripts.write(expected, CommandKind.RELEASE, named, false);
        assertEquals(text(expected), text(out));
    }

    /** It has the token once for each key, so it is longer than the script call. */
    @Test
    void msetexFitsIntoItsRoom() {
        String key = "$1\r\nn\r\n";
        StubRequest set = new StubRequest(key.repeat(64), 30_000, "a".repeat(64)) {
            @Override
            public int keyCount() {
                return 64;
            }

            @Override
            public byte[] resourceBulk(int index) {
                return key.getBytes(StandardCharsets.US_ASCII);
            }
        };
        ByteBuf out = Unpooled.buffer();
        NativeCommands.write(out, CommandEncoding.MSETEX, set, 0);
        int room = LockScripts.roomFor(set, CommandKind.ACQUIRE) + CommandVariants.roomForValues(set);
        assertTrue(out.readableBytes() <= room, () -> "needs more than " + room);
        String command = text(out);
        assertTrue(command.startsWith("*133\r\n$6\r\nMSETEX\r\n$2\r\n64\r\n$1\r\nn\r\n$"), command);
        assertTrue(command.endsWith("$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n"), command);
    }

    /** The longest tickets, one for each key, behind the request for a push. */
    @ParameterizedTest
    @ValueSource(ints = {2, 12, 30, 64})
    void aSetWithTicketsFitsIntoItsRoom(int count) {
        String key = "$1\r\nn\r\n";
        Token reservation = new Token(Token.labelOf("a".repeat(64)));
        StubRequest.StubArguments longest = new StubRequest.StubArguments() {
            @Override
            public int ticket(int index) {
                return Integer.MAX_VALUE;
            }

            @Override
            public Token reservation() {
                return reservation;
            }

            @Override
            public boolean isReservationLeft() {
                return true;
            }
        };
        StubRequest set = new StubRequest(key.repeat(count), 86_400_000, "a".repeat(64)) {
            @Override
            public int keyCount() {
                return count;
            }

            @Override
            public LockKind lockKind() {
                return LockKind.SET;
            }

            @Override
            public byte[] counterBulk() {
                return key.repeat(count).getBytes(StandardCharsets.US_ASCII);
            }

            @Override
            public ScriptArguments arguments() {
                return longest;
            }
        };
        for (CommandKind kind : new CommandKind[]{CommandKind.ACQUIRE, CommandKind.ACQUIRE_FENCED}) {
            int room = LockScripts.roomFor(set, kind);
            ByteBuf out = Unpooled.buffer(room, room);
            WakeUpRequest.writeTo(out);
            LockScripts.write(out, kind, set, false);
            assertTrue(text(out).endsWith("$10\r\n2147483647\r\n"), kind::name);
        }
    }

    private static String withName(String command, String value) {
        String plain = "$20\r\n" + TOKEN + "\r\n";
        assertTrue(command.contains(plain), command);
        return command.replace(plain, value);
    }

    @Test
    void writesATraceQuery() {
        assertEquals("*2\r\n$3\r\nGET\r\n$13\r\ncounter:trace\r\n", written(CommandEncoding.GET));
    }

    @Test
    void writesQueriesOfTheQueue() {
        assertEquals("*3\r\n$5\r\nZRANK\r\n$13\r\ncounter:queue\r\n" + CLIENT, written(CommandEncoding.ZRANK));
        assertEquals("*2\r\n$5\r\nZCARD\r\n$13\r\ncounter:queue\r\n", written(CommandEncoding.ZCARD));
    }

    /** The length of the longer name may have a digit more. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3, 4, 93, 94, 512, 993, 994, 4096})
    void aTraceQueryNamesTheKeyBesideTheCounter(int nameLength) {
        String name = "c".repeat(nameLength);
        StubRequest request = new StubRequest(RESOURCE, 30_000) {
            @Override
            public byte[] counterBulk() {
                return ("$" + name.length() + "\r\n" + name + "\r\n").getBytes(StandardCharsets.US_ASCII);
            }
        };
        int room = LockScripts.roomFor(request, CommandKind.WATCH_TRACES);
        ByteBuf out = Unpooled.buffer(room, room);
        NativeCommands.write(out, CommandEncoding.GET, request, 0);
        assertEquals("*2\r\n$3\r\nGET\r\n$" + (nameLength + 6) + "\r\n" + name + ":trace\r\n", text(out));
    }

    @Test
    void writesATtlQuery() {
        assertEquals("*2\r\n$4\r\nPTTL\r\n" + RESOURCE, written(CommandEncoding.PTTL));
    }

    @Test
    void writesATypeQuery() {
        assertEquals("*2\r\n$4\r\nTYPE\r\n" + RESOURCE, written(CommandEncoding.TYPE));
    }

    @ParameterizedTest
    @EnumSource(value = CommandKind.class,
            names = {"RELEASE_MANY", "RELEASE_MANY_FENCED", "EXTEND_MANY", "ACQUIRE_MANY"})
    void aBatchHasRoomForNames(CommandKind kind) {
        CommandBatch plain = new CommandBatch(kind);
        CommandBatch named = new CommandBatch(kind);
        String name = "n".repeat(64);
        for (int i = 0; i < CommandBatch.LENGTH_MAX; i++) {
            plain.add(request(1), 0, 1);
            named.add(request(1, name), 0, 1);
        }
        int room = named.room(false);
        ByteBuf out = Unpooled.buffer(room, room);
        ByteBuf expected = Unpooled.buffer();
        named.writeTo(out, named.requestsOf(0), false);
        plain.writeTo(expected, plain.requestsOf(0), false);
        assertEquals(withName(text(expected), "$85\r\n" + TOKEN + "@" + name + "\r\n"), text(out));
        int ofNames = named.room(false);
        named.reset();
        plain.reset();
        assertTrue(ofNames > named.room(false));
        assertEquals(plain.room(false), named.room(false));
    }

    private static String written(CommandEncoding encoding) {
        ByteBuf out = Unpooled.buffer();
        NativeCommands.write(out, encoding, request(30_000), 0);
        assertTrue(out.readableBytes() <= LockScripts.COMMAND_OVERHEAD_BYTES + RESOURCE.length(), encoding::name);
        return text(out);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 10, 64})
    void writesABatchOfReleases(int length) {
        CommandBatch batch = new CommandBatch(CommandKind.RELEASE_MANY);
        for (int i = 0; i < length; i++) {
            batch.add(request(1), 0, 1);
        }
        ByteBuf out = Unpooled.buffer();
        batch.writeTo(out, batch.requestsOf(0), false);
        assertTrue(out.readableBytes() <= batch.room(false), "room");
        String keysAndTokens = RESOURCE.repeat(length) + ("$20\r\n" + TOKEN + "\r\n").repeat(length);
        String count = "$" + Integer.toString(length).length() + "\r\n" + length + "\r\n";
        assertEquals("*" + (3 + 2 * length) + "\r\n$7\r\nEVALSHA\r\n$40\r\n" + sha(CommandKind.RELEASE_MANY) + "\r\n"
                + count + keysAndTokens, text(out));
        String source = new String(ScriptSources.source(CommandKind.RELEASE_MANY), StandardCharsets.UTF_8);
        ByteBuf eval = Unpooled.buffer();
        batch.writeTo(eval, batch.requestsOf(0), true);
        assertTrue(eval.readableBytes() <= batch.room(true), "room");
        assertEquals("*" + (3 + 2 * length) + "\r\n$4\r\nEVAL\r\n$" + source.length() + "\r\n" + source + "\r\n"
                + count + keysAndTokens, text(eval));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 10, 64})
    void writesABatchOfFencedReleases(int length) {
        CommandBatch batch = new CommandBatch(CommandKind.RELEASE_MANY_FENCED);
        for (int i = 0; i < length; i++) {
            batch.add(request(1), 0, 1);
        }
        String counters = "$7\r\ncounter\r\n".repeat(length);
        String arguments = ("$20\r\n" + TOKEN + "\r\n").repeat(length)
                + "$16\r\n9007199254740991\r\n".repeat(length) + "$8\r\n86400000\r\n";
        String count = "$" + Integer.toString(2 * length).length() + "\r\n" + 2 * length + "\r\n";
        ByteBuf out = Unpooled.buffer();
        batch.writeTo(out, batch.requestsOf(0), false);
        assertTrue(out.readableBytes() <= batch.room(false), "room");
        assertEquals("*" + (3 + 4 * length + 1) + "\r\n$7\r\nEVALSHA\r\n$40\r\n" + sha(CommandKind.RELEASE_MANY_FENCED)
                + "\r\n" + count + RESOURCE.repeat(length) + counters + arguments, text(out));
        ByteBuf eval = Unpooled.buffer();
        batch.writeTo(eval, batch.requestsOf(0), true);
        assertTrue(eval.readableBytes() <= batch.room(true), "room");
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 10, 64})
    void writesABatchOfAcquires(int length) {
        CommandBatch batch = new CommandBatch(CommandKind.ACQUIRE_MANY);
        for (int i = 0; i < length; i++) {
            batch.add(request(30_000), 0, i == 0 ? 2 : 3);
        }
        ByteBuf out = Unpooled.buffer();
        batch.writeTo(out, batch.requestsOf(1), false);
        assertTrue(out.readableBytes() <= batch.room(false), "room");
        String count = "$" + Integer.toString(length).length() + "\r\n" + length + "\r\n";
        assertEquals("*" + (5 + 2 * length) + "\r\n$6\r\nMSETEX\r\n" + count
                + (RESOURCE + "$20\r\n" + TOKEN + "\r\n").repeat(length)
                + "$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n", text(out));
        ByteBuf without = Unpooled.buffer();
        batch.writeTo(without, batch.requestsOf(0), false);
        assertTrue(text(without).startsWith("*" + (3 + 2 * length)), "a node that does not get the first one");
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 10, 64})
    void writesABatchOfExtensions(int length) {
        CommandBatch batch = new CommandBatch(CommandKind.EXTEND_MANY);
        StringBuilder ttls = new StringBuilder();
        for (int i = 0; i < length; i++) {
            batch.add(request(30_000 + i), 0, 1);
            ttls.append("$5\r\n").append(30_000 + i).append("\r\n");
        }
        String arguments = ("$20\r\n" + TOKEN + "\r\n").repeat(length) + ttls;
        String count = "$" + Integer.toString(length).length() + "\r\n" + length + "\r\n";
        ByteBuf out = Unpooled.buffer();
        batch.writeTo(out, batch.requestsOf(0), false);
        assertTrue(out.readableBytes() <= batch.room(false), "room");
        assertTrue(out.readableBytes() <= batch.roomForEach(), "room");
        assertEquals("*" + (3 + 3 * length) + "\r\n$7\r\nEVALSHA\r\n$40\r\n" + sha(CommandKind.EXTEND_MANY) + "\r\n"
                + count + RESOURCE.repeat(length) + arguments, text(out));
        ByteBuf eval = Unpooled.buffer();
        batch.writeTo(eval, batch.requestsOf(0), true);
        assertTrue(eval.readableBytes() <= batch.room(true), "room");
    }

    @Test
    void writesFencedCommands() {
        String counter = "$7\r\ncounter\r\n";
        String highest = "$16\r\n9007199254740991\r\n";
        assertWritten(CommandKind.ACQUIRE_FENCED, 9, 2, counter,
                "$5\r\n30000\r\n$8\r\n86400000\r\n$16\r\n1887436800000000\r\n");
        assertWritten(CommandKind.ACQUIRE_FENCED_IN_ORDER, 12, 2, counter,
                "$5\r\n30000\r\n$8\r\n86400000\r\n$16\r\n1887436800000000\r\n" + WAITER);
        assertWritten(CommandKind.RAISE, 8, 2, counter, highest + "$8\r\n86400000\r\n");
        assertWritten(CommandKind.RELEASE_FENCED, 8, 2, counter, highest + "$8\r\n86400000\r\n");
    }

    @ParameterizedTest
    @EnumSource(value = CommandKind.class, mode = EnumSource.Mode.EXCLUDE,
            names = {"RELEASE_MANY", "RELEASE_MANY_FENCED", "EXTEND_MANY", "ACQUIRE_MANY", "REMAINING_TTL", "MARK",
                "PLACE", "WAITING", "KEY_TYPE", "CREATE_TRACE", "WATCH_TRACES", "LEAVE_TRACE"})
    void writesEvalWithTheScriptInPlaceOfItsSha(CommandKind kind) {
        String source = new String(ScriptSources.source(kind), StandardCharsets.UTF_8);
        ByteBuf bySha = Unpooled.buffer();
        ByteBuf bySource = Unpooled.buffer();
        LockScripts.write(bySha, kind, request(86_400_000), false);
        LockScripts.write(bySource, kind, request(86_400_000), true);
        assertEquals(text(bySha)
                .replace("$7\r\nEVALSHA\r\n$40\r\n" + sha(kind), "$4\r\nEVAL\r\n$" + source.length() + "\r\n" + source),
                text(bySource));
    }

    @ParameterizedTest
    @EnumSource(value = CommandKind.class, mode = EnumSource.Mode.EXCLUDE,
            names = {"RELEASE_MANY", "RELEASE_MANY_FENCED", "EXTEND_MANY", "ACQUIRE_MANY", "REMAINING_TTL", "MARK",
                "PLACE", "WAITING", "KEY_TYPE", "CREATE_TRACE", "WATCH_TRACES", "LEAVE_TRACE"})
    void theCapacityIsEnoughForEachCommand(CommandKind kind) {
        ByteBuf out = Unpooled.buffer();
        LockScripts.write(out, kind, request(86_400_000), false);
        int length = out.readableBytes();
        out.release();
        int names = RESOURCE.length() + (kind.isCounterNamed ? request(1).counterBulk().length + CLIENT.length() : 0);
        assertTrue(length <= LockScripts.COMMAND_OVERHEAD_BYTES + names, kind + " has " + length);
    }

    @ParameterizedTest
    @EnumSource(value = CommandKind.class, mode = EnumSource.Mode.EXCLUDE,
            names = {"ACQUIRE_MANY", "REMAINING_TTL", "MARK", "PLACE", "WAITING", "KEY_TYPE",
                "CREATE_TRACE", "WATCH_TRACES", "LEAVE_TRACE"})
    void theCommentOfEachScriptListsKeysArgumentsAndReplies(CommandKind kind) {
        String source = new String(ScriptSources.source(kind), StandardCharsets.US_ASCII);
        assertTrue(source.startsWith("-- "), source);
        boolean isMany = kind.single() != kind;
        String index = isMany ? "i" : "1";
        for (String word : new String[]{"-- KEYS[" + index + "] resource", "-- ARGV[" + index + "] token",
            "-- reply "}) {
            assertTrue(source.contains(word), word);
        }
        assertEquals(kind.hasCounter, source.contains(isMany ? "KEYS[n + i] counter" : "KEYS[2] counter"));
        for (int i = 2; i <= 4; i++) {
            assertEquals(i <= 1 + kind.argumentCount, source.contains("ARGV[" + i + "]"), kind + " ARGV " + i);
        }
    }

    @Test
    void theShaIsOfTheBytesInLowerCase() {
        assertEquals("da39a3ee5e6b4b0d3255bfef95601890afd80709", ScriptSources.sha1Hex(new byte[0]));
        assertEquals("e0e1f9fabfc9d4800c877a703b823ac0578ff8db",
                ScriptSources.sha1Hex("return 1".getBytes(StandardCharsets.US_ASCII)));
    }

    @Test
    void onlyCommandsThatSetOrExtendAreVotes() {
        for (CommandKind kind : CommandKind.values()) {
            boolean isRead = kind.isOptional() && kind != CommandKind.SHORTEN || kind == CommandKind.CHECK;
            boolean isEnd = kind.name().startsWith("RELEASE") || kind == CommandKind.SHORTEN;
            assertEquals(!isEnd && !isRead, kind.isVote, kind::name);
            assertEquals(kind.name().startsWith("ACQUIRE"), kind.isAcquire,
                    kind::name);
        }
    }

    /** The longest numbers of a release. */
    private static class LongestNumbers implements ScriptArguments {

        @Override
        public long highestFence() {
            return Long.MAX_VALUE;
        }

        @Override
        public long counterTtlMs() {
            return 315_360_000_000L;
        }
    }

    @ParameterizedTest
    @EnumSource(value = CommandKind.class, names = {"ACQUIRE_IN_ORDER", "ACQUIRE_FENCED_IN_ORDER", "LEAVE_QUEUE"})
    void theCapacityIsEnoughForAWaiterWithTheLongestNumbersAndNames(CommandKind kind) {
        String client = "$1000\r\n" + "c".repeat(1_000) + "\r\n";
        StubRequest request = new StubRequest(RESOURCE, 86_400_000, "a".repeat(64)) {
            @Override
            public ScriptArguments arguments() {
                return new LongestNumbers() {
                    @Override
                    public byte[] waiterBulk() {
                        return client.getBytes(StandardCharsets.US_ASCII);
                    }

                    @Override
                    public long waitedUs() {
                        return Long.MIN_VALUE;
                    }

                    @Override
                    public long counterFloor() {
                        return Long.MAX_VALUE;
                    }
                };
            }
        };
        ByteBuf out = Unpooled.buffer();
        LockScripts.write(out, kind, request, false);
        assertTrue(out.readableBytes() <= LockScripts.roomFor(request, kind), () -> kind + " has " + out);
        out.release();
    }

    @Test
    void onlyScriptsThatEnterTheQueueRegisterForNoPush() {
        for (CommandKind kind : CommandKind.values()) {
            assertEquals(kind.name().endsWith("_IN_ORDER"), kind.entersQueue(), kind::name);
            assertEquals(kind.isAcquire && !kind.entersQueue() || kind == CommandKind.CHECK
                    || kind == CommandKind.REMAINING_TTL || kind.name().startsWith("WATCH_"), kind.mayRegister,
                    kind::name);
        }
    }

    /** A correct server never reaches these numbers; a faulty one must not make a buffer too small. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void theCapacityIsEnoughForABatchOfTheLongestNumbers(boolean isEval) {
        CommandBatch batch = new CommandBatch(CommandKind.RELEASE_MANY_FENCED);
        for (int i = 0; i < CommandBatch.LENGTH_MAX; i++) {
            batch.add(new StubRequest(RESOURCE, 30_000) {
                @Override
                public ScriptArguments arguments() {
                    return new LongestNumbers();
                }
            }, 0, 1);
        }
        int room = batch.room(isEval);
        ByteBuf out = Unpooled.buffer(room, room);
        batch.writeTo(out, batch.requestsOf(0), isEval);
        assertEquals(room, out.capacity());
        out.release();
    }

    /** What scripts share is a part that they include. */
    @Test
    void noTwoScriptsRepeatALongPart() throws Exception {
        List<Path> files;
        try (Stream<Path> all = Files.list(Path.of("src/main/resources/dev/redlock/node/send"))) {
            files = all.filter(file -> file.toString().endsWith(".lua")).toList();
        }
        Map<String, Path> seen = new HashMap<>();
        for (Path file : files) {
            List<String> lines = Files.readAllLines(file)
                    .stream()
                    .filter(line -> !line.startsWith("--") || line.startsWith("--include"))
                    .toList();
            for (int i = 0; i + REPEATED_LINES_MAX < lines.size(); i++) {
                Path other = seen.put(String.join("\n", lines.subList(i, i + REPEATED_LINES_MAX + 1)), file);
                assertTrue(other == null, file + " repeats lines of " + other + " from: " + lines.get(i));
            }
            if (file.getFileName().toString().startsWith("part_")) {
                String include = "--include " + file.getFileName().toString().replace(".lua", "");
                long users = 0;
                for (Path user : files) {
                    users += Files.readAllLines(user).contains(include) ? 1 : 0;
                }
                assertTrue(users >= 2, include + " is used " + users + " times");
            }
        }
    }

    @Test
    void aScriptThatRunsHasNoLineToInclude() {
        for (String name : ScriptNames.all()) {
            assertFalse(ScriptNames.source(name).contains("--include"), name);
        }
    }
}
