package dev.redlock.loadtest.cycle;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespParser;
import dev.redlock.resp.RespProtocolException;
import dev.redlock.resp.RespType;
import dev.redlock.resp.RespVisitor;
import dev.redlock.resp.RespWriter;
import dev.redlock.resp.netty.RespInboundHandler;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * The node's end of a connection inside an event loop: it reads commands like a server and holds its replies until the
 * loop polls its channels again. It supports the commands of cycles, {@code SET NX PX} and the scripts that acquire and
 * release, and those of a handshake. It replies to other commands with an error.
 *
 * @threading event-loop-confined
 */
final class LoopConnection implements RespVisitor, RespInboundHandler.Owner {

    /**
     * The kind of a command.
     *
     * @threading immutable
     */
    private enum Kind {
        SET, SCRIPT, OTHER
    }

    /**
     * The supported scripts.
     *
     * @threading immutable
     */
    private enum Script {
        ACQUIRE, RELEASE, RELEASE_MANY;

        private static final Script[] ALL = values();

        private final String source;

        Script() {
            try {
                source = new String(BareLoop.script(name().toLowerCase(Locale.ROOT)), StandardCharsets.UTF_8);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** More releases than the client ever sends together. */
    private static final int LOCKS_MAX = 64;
    private static final int TOKEN_BYTES = 20;
    private static final int NUMBER_DIGITS = 6;
    private static final int REPLY_BYTES = 4096;

    private final LoopNode node;
    private final String runId;
    private final Channel channel;
    /** The first eight digits of each script's name as a number; zero until it is loaded. */
    private final long[] scriptNames = new long[Script.values().length];
    private final int[] locks = new int[LOCKS_MAX];
    private final long[] highs = new long[LOCKS_MAX];
    private final long[] middles = new long[LOCKS_MAX];
    private final int[] lows = new int[LOCKS_MAX];
    private final List<String> words = new ArrayList<>();
    private Kind kind;
    private Script script;
    private int wordCount;
    private int lockCount;
    private boolean isProbe;
    private ByteBuf replies;

    LoopConnection(LoopNode node, String runId, Channel channel) {
        this.node = node;
        this.runId = runId;
        this.channel = channel;
        channel.pipeline()
                .addLast(new RespInboundHandler(RespParser.forRequests(RespLimits.defaults()), this, this));
    }

    /** Sends the replies to all commands since the last call. */
    boolean answer() {
        if (replies == null) {
            return false;
        }
        ByteBuf out = replies;
        replies = null;
        channel.writeAndFlush(out, channel.voidPromise());
        return true;
    }

    // ---- a command --------------------------------------------------------------------------------------------------

    @Override
    public void onAggregateStart(RespType type, int elementCount) {
        wordCount = 0;
        lockCount = 0;
        words.clear();
    }

    @Override
    public void onBulkString(ByteBuf buf, int index, int length) {
        int at = wordCount++;
        if (at == 0) {
            kind = kindOf(buf, index, length);
        }
        switch (kind) {
            case SET -> onSetWord(at, buf, index, length);
            case SCRIPT -> onScriptWord(at, buf, index, length);
            case OTHER -> words.add(buf.toString(index, length, StandardCharsets.UTF_8));
        }
    }

    private static Kind kindOf(ByteBuf buf, int index, int length) {
        if (length == 3 && buf.getByte(index) == 'S') {
            return Kind.SET;
        }
        return length == 7 && buf.getByte(index + 4) == 'S' ? Kind.SCRIPT : Kind.OTHER;
    }

    /** {@code SET resource token NX PX ttl}. */
    private void onSetWord(int at, ByteBuf buf, int index, int length) {
        if (at == 1) {
            lockCount = 1;
            locks[0] = numberAt(buf, index + length - NUMBER_DIGITS, NUMBER_DIGITS);
        } else if (at == 2) {
            // A handshake probes SET with IFEQ; its value is no token.
            isProbe = length != TOKEN_BYTES;
            if (!isProbe) {
                readToken(0, buf, index, length);
            }
        }
    }

    /** {@code EVALSHA sha K resource1 ... resourceK token1 ... tokenK [ttl]}. */
    private void onScriptWord(int at, ByteBuf buf, int index, int length) {
        if (at == 1) {
            script = scriptNamed(buf.getLong(index));
        } else if (at == 2) {
            lockCount = numberAt(buf, index, length);
        } else if (at >= 3 && at < 3 + lockCount) {
            locks[at - 3] = numberAt(buf, index + length - NUMBER_DIGITS, NUMBER_DIGITS);
        } else if (at >= 3 && at < 3 + 2 * lockCount) {
            readToken(at - 3 - lockCount, buf, index, length);
        }
    }

    private static int numberAt(ByteBuf buf, int index, int length) {
        int number = 0;
        for (int i = index; i < index + length; i++) {
            number = 10 * number + buf.getByte(i) - '0';
        }
        return number;
    }

    private void readToken(int which, ByteBuf buf, int index, int length) {
        if (length != TOKEN_BYTES) {
            throw new IllegalStateException("a token has " + length + " bytes");
        }
        highs[which] = buf.getLong(index);
        middles[which] = buf.getLong(index + 8);
        lows[which] = buf.getInt(index + 16);
    }

    // ---- its reply --------------------------------------------------------------------------------------------------

    @Override
    public void onReplyEnd() {
        if (replies == null) {
            // From thread-local arenas, so that the loops do not share the allocator of the model.
            replies = PooledByteBufAllocator.DEFAULT.directBuffer(REPLY_BYTES);
        }
        switch (kind) {
            case SET -> {
                if (isProbe) {
                    RespWriter.textLine(replies, RespType.SIMPLE_ERROR, "ERR syntax error");
                } else if (acquire()) {
                    RespWriter.textLine(replies, RespType.SIMPLE_STRING, "OK");
                } else {
                    RespWriter.nullValue(replies);
                }
            }
            case SCRIPT -> run();
            case OTHER -> answerOther();
        }
    }

    private boolean acquire() {
        return node.acquire(locks[0], highs[0], middles[0], lows[0]);
    }

    private int release(int which) {
        return node.release(locks[which], highs[which], middles[which], lows[which]) ? 1 : 0;
    }

    private void run() {
        if (script == null) {
            RespWriter.textLine(replies, RespType.SIMPLE_ERROR, "NOSCRIPT No matching script.");
            return;
        }
        switch (script) {
            case ACQUIRE -> RespWriter.integer(replies, acquire() ? 1 : 0);
            case RELEASE -> RespWriter.integer(replies, release(0));
            case RELEASE_MANY -> {
                RespWriter.arrayHeader(replies, lockCount);
                for (int i = 0; i < lockCount; i++) {
                    RespWriter.integer(replies, release(i));
                }
            }
        }
    }

    /** The handshake, and the clock. */
    private void answerOther() {
        switch (words.get(0)) {
            case "HELLO" -> {
                RespWriter.aggregateHeader(replies, RespType.MAP, 1);
                RespWriter.bulkString(replies, "proto");
                RespWriter.integer(replies, 3);
            }
            case "CLIENT" -> RespWriter.textLine(replies, RespType.SIMPLE_STRING, "OK");
            case "INFO" -> RespWriter.bulkString(replies,
                    "run_id:" + runId + "\r\nuptime_in_seconds:86400\r\nrole:master\r\n");
            case "TIME" -> {
                long nowUs = TimeUnit.MILLISECONDS.toMicros(System.currentTimeMillis());
                RespWriter.arrayHeader(replies, 2);
                RespWriter.bulkInteger(replies, nowUs / 1_000_000);
                RespWriter.bulkInteger(replies, nowUs % 1_000_000);
            }
            case "COMMAND" -> {
                RespWriter.arrayHeader(replies, 2);
                RespWriter.nullValue(replies);
                RespWriter.nullValue(replies);
            }
            case "SCRIPT" -> load(words.get(2));
            default -> RespWriter.textLine(replies, RespType.SIMPLE_ERROR, "ERR unknown command");
        }
    }

    private void load(String source) {
        String name = sha1Hex(source);
        for (Script one : Script.ALL) {
            if (one.source.equals(source)) {
                scriptNames[one.ordinal()] = ByteBuffer.wrap(name.getBytes(StandardCharsets.US_ASCII)).getLong();
            }
        }
        RespWriter.bulkString(replies, name);
    }

    private static String sha1Hex(String text) {
        try {
            return HexFormat.of()
                    .formatHex(MessageDigest.getInstance("SHA-1").digest(text.getBytes(StandardCharsets.UTF_8)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this JDK has no SHA-1, which names scripts in Redis", e);
        }
    }

    private Script scriptNamed(long firstDigits) {
        for (Script one : Script.ALL) {
            if (scriptNames[one.ordinal()] == firstDigits) {
                return one;
            }
        }
        return null;
    }

    // ---- what a client never sends ----------------------------------------------------------------------------------

    @Override
    public void onInteger(long value) {
        throw new IllegalStateException("a command is made of bulk strings");
    }

    @Override
    public void onSimpleError(ByteBuf buf, int index, int length) {
        throw new IllegalStateException("a command is made of bulk strings");
    }

    @Override
    public void onProtocolError(RespProtocolException e) {
        throw e;
    }
}
