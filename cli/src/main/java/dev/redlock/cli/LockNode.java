package dev.redlock.cli;

import dev.redlock.engine.key.KeyText;
import dev.redlock.engine.LockInspector;
import dev.redlock.engine.LockValue;
import dev.redlock.node.send.ErrorAdvice;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.SafeText;
import dev.redlock.transport.NodeAddress;
import dev.redlock.transport.VoterAddress;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;

/**
 * One node, as the {@code locks} command reads and changes it. A node that cannot be reached or that rejects a command
 * has a problem from then on and gets no further command.
 *
 * @threading caller-confined
 */
final class LockNode implements AutoCloseable {

    private static final byte[] COUNTER_MARK = bytes(KeyText.COUNTER_MARK);
    private static final byte[] RESERVATION_MARK = bytes(KeyText.RESERVATION_MARK);
    /** More than any value of a lock has; a longer one is cut, so that it costs no more. */
    private static final int VALUE_LENGTH_MAX = 1024;
    static final int SCAN_COUNT = 1_000;
    /** Locks that are read at a time. */
    private static final int CHUNK = 500;
    private static final int COMMANDS_PER_KEY = 6;
    private static final long TTL_OF_NO_KEY = -2;
    private static final int PROBLEM_LENGTH_MAX = 200;
    /** Redis up to 7.0: "one of the keys used as arguments". Later, and Valkey: "a key". */
    private static final Pattern KEY_DENIED = Pattern.compile("NOPERM .*permissions to access (a key|one of the keys)");
    /** Room for what each Sentinel says, with the fix at its end. */
    private static final int CONNECT_PROBLEM_LENGTH_MAX = 1_000;

    private final VoterAddress configured;
    private final Duration timeout;
    private final ClientTls files;
    /** Null if no Sentinel names one. */
    private NodeAddress server;
    private AdminClient client;
    private String problem;
    /** The last error for a key that a scan has found and the user may not read. */
    private String deniedReply;
    /** A key that the user may not read here, but on another node; null if there is none. */
    private String unreadable;

    private LockNode(VoterAddress configured, Duration timeout, ClientTls files) {
        this.configured = configured;
        this.timeout = timeout;
        this.files = files;
    }

    /** Connects to a server, or to the primary that Sentinels name now. */
    static LockNode connect(VoterAddress configured, Duration timeout, ClientTls files) {
        LockNode node = new LockNode(configured, timeout, files);
        try {
            node.server = SentinelQuestion.serverOf(configured, timeout, files);
            node.client = AdminClient.connect(node.server, timeout, files);
        } catch (IOException e) {
            node.problem = SafeText.of(e.getMessage().replace("cannot connect to " + node.server, "cannot connect"),
                    CONNECT_PROBLEM_LENGTH_MAX);
        }
        return node;
    }

    /** Connects again if the node has a problem, or if its Sentinels name another primary. */
    LockNode renewed() {
        if (isUp() && !isReplaced()) {
            return this;
        }
        close();
        return connect(configured, timeout, files);
    }

    private boolean isReplaced() {
        try {
            return !SentinelQuestion.serverOf(configured, timeout, files).equals(server);
        } catch (IOException e) {
            // The server still answers.
            return false;
        }
    }

    /** The server; if no Sentinel names one, the Sentinels. */
    VoterAddress address() {
        return server == null ? configured : server;
    }

    boolean isUp() {
        return problem == null;
    }

    /** Why the node has no answer, or none for a key that another node lets the user read; null if neither. */
    String problem() {
        return problem != null || unreadable == null
                ? problem
                : unreadable + " cannot be read: " + SafeText.of(deniedReply) + "; " + ErrorAdvice.of("NOPERM");
    }

    /** @param key a found key that the user may read on another node only, for people; null if there is none */
    void setUnreadable(String key) {
        unreadable = key;
    }

    // ---- reading ----------------------------------------------------------------------------------------------------

    /**
     * Adds the names of keys that match a pattern, without those of fencing counters.
     *
     * @param names one char for each byte
     * @param limit names to collect at most
     * @param end   the limit in time, after which the node has a problem: a broken server may never end its scan
     * @return true if there may be more
     */
    boolean scan(String prefix, Set<String> names, int limit, Duration end) {
        byte[] pattern = pattern(prefix);
        byte[] cursor = bytes("0");
        int found = 0;
        long startNs = System.nanoTime();
        do {
            if (System.nanoTime() - startNs > end.toNanos()) {
                problem = "SCAN has not ended after " + DurationConverter.text(end)
                        + ": raise --scan-timeout if the node has many keys";
                return false;
            }
            Page page = page(pattern, cursor);
            if (page == null) {
                return false;
            }
            cursor = page.cursor();
            for (byte[] name : page.names()) {
                if (contains(name, COUNTER_MARK) || contains(name, RESERVATION_MARK)) {
                    continue;
                }
                if (found++ == limit) {
                    return true;
                }
                names.add(text(name));
            }
        } while (cursor.length != 1 || cursor[0] != '0');
        return false;
    }

    /** One SCAN, from a cursor on; null if the node does not answer. */
    Page page(byte[] pattern, byte[] cursor) {
        return sendAll(List.of(List.of(bytes("SCAN"), cursor, bytes("MATCH"), pattern, bytes("COUNT"),
                bytes(Integer.toString(SCAN_COUNT)))), Page::of);
    }

    /**
     * The reply to one SCAN.
     *
     * @param cursor where the scan continues
     * @param names  the names of keys
     * @threading immutable
     */
    record Page(byte[] cursor, List<byte[]> names) {

        static Page of(List<RespValue> replies) {
            List<RespValue> parts = replies.get(0).elements();
            if (parts.size() != 2) {
                throw new IllegalStateException("expected a cursor and keys, got " + parts);
            }
            return new Page(parts.get(0).asBytes(), parts.get(1).elements().stream().map(RespValue::asBytes).toList());
        }
    }

    /** The prefix with its special characters escaped, and a star. */
    static byte[] pattern(String prefix) {
        return bytes(prefix.replaceAll("([*?\\[\\]\\\\^])", "\\\\$1") + "*");
    }

    /**
     * Reads the keys with these names.
     *
     * @param areFound whether a scan has found the names: it also finds keys that the user may not read
     * @return one for each name, null for a found key that the user may not read; null if the node does not answer
     */
    List<KeyReading> read(List<String> names, boolean areFound) {
        List<KeyReading> readings = new ArrayList<>();
        for (int i = 0; i < names.size() && isUp(); i += CHUNK) {
            List<String> chunk = names.subList(i, Math.min(names.size(), i + CHUNK));
            List<List<byte[]>> commands = new ArrayList<>();
            for (String name : chunk) {
                byte[] key = latin(name);
                commands.add(List.of(bytes("GETRANGE"), key, bytes("0"), bytes(Integer.toString(VALUE_LENGTH_MAX))));
                commands.add(List.of(bytes("PTTL"), key));
                commands.add(List.of(bytes("GETRANGE"), counter(name), bytes("0"), bytes("31")));
                commands.add(List.of(bytes("ZCOUNT"), key, bytes("(0"), bytes("+inf")));
                commands.add(List.of(bytes("ZCOUNT"), key, bytes("-inf"), bytes("(0")));
                commands.add(List.of(bytes("GETRANGE"), trace(name), bytes("0"),
                        bytes(Integer.toString(VALUE_LENGTH_MAX))));
            }
            List<KeyReading> read = sendAll(commands, areFound, replies -> readings(replies, chunk.size()));
            if (read != null) {
                readings.addAll(read);
            }
        }
        return isUp() ? readings : null;
    }

    private static List<KeyReading> readings(List<RespValue> replies, int count) {
        List<KeyReading> readings = new ArrayList<>();
        for (int k = 0; k < count; k++) {
            readings.add(reading(replies.subList(COMMANDS_PER_KEY * k, COMMANDS_PER_KEY * (k + 1))));
        }
        return readings;
    }

    private static KeyReading reading(List<RespValue> replies) {
        if (isKeyDenied(replies.get(0)) || isKeyDenied(replies.get(1))) {
            return null;
        }
        RespValue counter = replies.get(2);
        String fence = counter.isError() || counter.asText().isEmpty() ? null : SafeText.of(counter.asText());
        RespValue value = replies.get(0);
        long ttlMs = replies.get(1).asLong();
        if (value.isError() && !replies.get(3).isError()) {
            return KeyReading.ofOther(ttlMs, fence, readers(replies.get(3).asLong(), replies.get(4).asLong()));
        }
        if (value.isError()) {
            return KeyReading.ofOther(ttlMs, fence, "no lock, but a key of another type, which no acquire replaces");
        }
        if (ttlMs == TTL_OF_NO_KEY) {
            return KeyReading.ofOther(ttlMs, fence, null);
        }
        byte[] bytes = value.asBytes();
        RespValue trace = replies.get(5);
        return bytes.length > VALUE_LENGTH_MAX
                ? KeyReading.ofOther(ttlMs, fence, "no lock, but a longer value, which no acquire replaces")
                : new KeyReading(LockValue.of(bytes), ttlMs, fence, null,
                        !trace.isError() && Arrays.equals(trace.asBytes(), bytes));
    }

    /** A sorted set is the key of readers, some of which may have expired; the reservations of writers precede them. */
    private static String readers(long readerCount, long writerCount) {
        return "locked for reading by " + readerCount + (readerCount == 1 ? " reader" : " readers")
                + (writerCount == 0 ? "" : ", " + writerCount + " waiting to write");
    }

    /** The name of the counter is made of bytes like that of the lock. */
    private static byte[] counter(String name) {
        return latin(KeyText.counterName(name));
    }

    /** A client that may retain a lock leaves the value of the lock there. */
    private static byte[] trace(String name) {
        return latin(KeyText.traceName(name));
    }

    // ---- breaking ---------------------------------------------------------------------------------------------------

    /** Deletes the key if it has exactly this value; null if the node does not answer. */
    Boolean release(String name, LockValue value) {
        String[] words = LockInspector.breakCommand(name, value, true);
        return sendAll(List.of(Arrays.stream(words).map(LockNode::latin).toList()),
                replies -> replies.get(0).asLong() == 1);
    }

    // ---- the connection ---------------------------------------------------------------------------------------------

    /**
     * The result of the replies; null if the node has a problem now. A wrong type of a key is an answer about the key,
     * and no problem.
     */
    private <T> T sendAll(List<List<byte[]>> commands, Function<List<RespValue>, T> parser) {
        return sendAll(commands, false, parser);
    }

    /** As for given keys, but a key that the user may not read is no problem either: a scan finds those of others. */
    <T> T sendAllOfFound(List<List<byte[]>> commands, Function<List<RespValue>, T> parser) {
        return sendAll(commands, true, parser);
    }

    private <T> T sendAll(List<List<byte[]>> commands, boolean areFound, Function<List<RespValue>, T> parser) {
        if (!isUp()) {
            return null;
        }
        try {
            List<RespValue> replies = client.sendAll(commands);
            for (int i = 0; i < replies.size(); i++) {
                RespValue reply = replies.get(i);
                if (areFound && isKeyDenied(reply)) {
                    deniedReply = reply.asText();
                } else if (reply.isError() && !reply.asText().startsWith("WRONGTYPE")) {
                    String command = text(commands.get(i).get(0));
                    problem = command + " failed: " + SafeText.of(reply.asText()) + "; "
                            + ErrorAdvice.of(reply.asText().split(" ", 2)[0]);
                    return null;
                }
            }
            return parser.apply(replies);
        } catch (IOException e) {
            problem = SafeText.of(String.valueOf(e.getMessage()));
            return null;
        } catch (IllegalStateException e) {
            problem = text(commands.get(0).get(0)) + " has an unexpected reply: "
                    + SafeText.of(e.getMessage(), PROBLEM_LENGTH_MAX);
            return null;
        }
    }

    /** The user may run the command, but not on this key. */
    static boolean isKeyDenied(RespValue reply) {
        return reply.isError() && KEY_DENIED.matcher(reply.asText()).lookingAt();
    }

    @Override
    public void close() {
        if (client != null) {
            client.close();
        }
    }

    // ---- bytes ------------------------------------------------------------------------------------------------------

    private static boolean contains(byte[] bytes, byte[] part) {
        return text(bytes).contains(text(part));
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static byte[] latin(String bytes) {
        return bytes.getBytes(StandardCharsets.ISO_8859_1);
    }

    static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.ISO_8859_1);
    }
}
