package dev.redlock.node;

import dev.redlock.resp.RespCommand;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.RespWriter;
import dev.redlock.resp.SafeText;
import dev.redlock.transport.NodeAddress;
import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * The first words on a connection, all sent at once: RESP3 and who we are, who the node is, and the scripts it shall
 * know.
 *
 * <pre>
 * HELLO 3 [AUTH user password] [SETNAME name] | CLIENT SETINFO ... | INFO server | INFO replication | TIME
 *     | DELEX key IFEQ value | DELIFEQ key value | SET key value IFEQ value PX 1 | SCRIPT LOAD ...
 * </pre>
 *
 * The conditional commands are tried on a key that does not exist, so that no server changes anything: one that has the
 * command finds no key, and one that does not refuses it.
 *
 * A server that refuses RESP3 is asked the same again with AUTH and CLIENT SETNAME in RESP2. A replica, a node that
 * does not let us in, or one that refuses a script or a guard's question cannot be used, and trying again soon does not
 * help; a node that is loading can.
 *
 * @threading event-loop-confined
 */
final class Handshake {

    private static final RespCommand TIME = RespCommand.of("TIME");
    private static final RespCommand INFO_SERVER = RespCommand.of("INFO", "server");
    private static final RespCommand INFO_REPLICATION = RespCommand.of("INFO", "replication");
    private static final RespCommand LIBRARY_NAME = RespCommand.of("CLIENT", "SETINFO", "LIB-NAME", "redlock");
    /** No token has its length, and no lock its value: a key of the probe's name that is there stays as it is. */
    private static final String PROBE_VALUE = "redlock:probe";
    /** How much of a word of the server's is shown. */
    private static final int SHOWN_LENGTH_MAX = 64;
    private static final long UNKNOWN = -1;
    /** Room for {@code TIME}. */
    static final int TIME_BYTES = 32;
    /** Room for the longest of the commands that are the same for everybody. */
    private static final int SHORT_BYTES = 128;
    /** {@code $}, a length, and two line ends. */
    private static final int BULK_OVERHEAD_BYTES = 16;
    private static final long SECONDS_MAX = Long.MAX_VALUE / 1_000_000_000;

    private final Node node;
    private final NodeConnection connection;
    private final NodeAddress address;
    private final String clientName;
    private final boolean isClockWatched;
    private final String probeKey;
    private boolean isResp2;
    private boolean isResp2Greeted;
    private boolean isOver;
    private String runId;
    private RespValue delexReply;
    private RespValue delIfEqualReply;
    private RespValue setIfEqualReply;
    private long uptimeSeconds = UNKNOWN;
    private long timeSentNs;
    private int scriptsLeft;

    Handshake(final Node node, final NodeConnection connection, final NodeAddress address, final NodeOptions options) {
        this.node = node;
        this.connection = connection;
        this.address = address;
        this.clientName = options.clientName();
        this.probeKey = options.probeKey();
        this.isClockWatched = options.clockSampleMs() > 0;
    }

    void start() {
        try {
            sendAll();
        } catch (final RuntimeException | Error e) {
            isOver = true;
            node.disconnect("its handshake cannot be sent: " + e);
        }
    }

    private void sendAll() {
        scriptsLeft = LockScripts.VERBS.size();
        if (isResp2) {
            sendResp2Greeting();
        } else {
            send(hello(), this::onHello);
        }
        send(command(LIBRARY_NAME), this::onIgnored);
        send(command(INFO_SERVER), this::onInfoServer);
        send(command(INFO_REPLICATION), this::onInfoReplication);
        timeSentNs = node.nowNs();
        send(node.timeCommand(), this::onTime);
        if (probeKey != null) {
            probe();
        }
        for (final CommandKind kind : LockScripts.VERBS) {
            send(scriptLoad(node, kind), this::onScriptLoaded);
        }
    }

    /** A node that refuses one of these, or may not be asked, is asked by scripts. */
    private void probe() {
        send(command("DELEX", probeKey, "IFEQ", PROBE_VALUE), reply -> delexReply = reply);
        send(command("DELIFEQ", probeKey, PROBE_VALUE), reply -> delIfEqualReply = reply);
        send(command("SET", probeKey, PROBE_VALUE, "IFEQ", PROBE_VALUE, "PX", "1"), reply -> setIfEqualReply = reply);
    }

    /** Without memory for all of it there is no handshake. */
    private void send(final ByteBuf command, final ValueRequest request) {
        if (!node.sendValue(command, request)) {
            throw new IllegalStateException("no memory");
        }
    }

    private ByteBuf command(final RespCommand command) {
        final ByteBuf out = node.newCommand(SHORT_BYTES);
        if (out != null) {
            command.writeTo(out);
        }
        return out;
    }

    private ByteBuf command(final String... words) {
        int capacity = SHORT_BYTES;
        final byte[][] encoded = new byte[words.length][];
        for (int i = 0; i < words.length; i++) {
            encoded[i] = words[i].getBytes(StandardCharsets.UTF_8);
            capacity += encoded[i].length + BULK_OVERHEAD_BYTES;
        }
        final ByteBuf out = node.newCommand(capacity);
        if (out != null) {
            RespWriter.arrayHeader(out, words.length);
            for (final byte[] word : encoded) {
                RespWriter.bulkString(out, word);
            }
        }
        return out;
    }

    /** {@code HELLO 3 [AUTH user password] [SETNAME name]}. */
    private ByteBuf hello() {
        final boolean hasPassword = address.password() != null;
        final boolean hasName = clientName != null;
        if (hasPassword && hasName) {
            return command("HELLO", "3", "AUTH", user(), address.password(), "SETNAME", clientName);
        }
        if (hasPassword) {
            return command("HELLO", "3", "AUTH", user(), address.password());
        }
        return hasName ? command("HELLO", "3", "SETNAME", clientName) : command("HELLO", "3");
    }

    private String user() {
        return address.user() == null ? "default" : address.user();
    }

    private void sendResp2Greeting() {
        if (address.password() != null) {
            final ByteBuf auth = address.user() == null
                    ? command("AUTH", address.password())
                    : command("AUTH", address.user(), address.password());
            send(auth, this::onAuth);
        }
        if (clientName != null) {
            send(command("CLIENT", "SETNAME", clientName), this::onIgnored);
        }
    }

    /** Null if there is no memory for it. */
    static ByteBuf scriptLoad(final Node node, final CommandKind kind) {
        final byte[] source = LockScripts.source(kind);
        final ByteBuf out = node.newCommand(SHORT_BYTES + source.length);
        if (out != null) {
            RespWriter.arrayHeader(out, 3);
            RespWriter.bulkString(out, "SCRIPT");
            RespWriter.bulkString(out, "LOAD");
            RespWriter.bulkString(out, source);
        }
        return out;
    }

    private void onHello(final RespValue reply) {
        if (isError(reply)) {
            final String error = reply.asText();
            if (error.startsWith("NOPROTO") || error.startsWith("ERR unknown command")) {
                isResp2 = true;
            } else {
                refuse("it does not let us in: " + codeOf(error));
            }
        }
    }

    private void onAuth(final RespValue reply) {
        if (isError(reply)) {
            refuse("it does not let us in: " + codeOf(reply.asText()));
        }
    }

    private void onIgnored(final RespValue reply) {
        // Names are for people; a node that does not know the command can be used all the same.
    }

    private void onInfoServer(final RespValue reply) {
        if (isOver || isWaitingForResp2() || reply == null) {
            return;
        }
        if (isNotReady(reply)) {
            return;
        }
        if (reply.isError()) {
            refuse("it refuses INFO, which tells restarts: " + codeOf(reply.asText()));
            return;
        }
        final String mode = modeOf(reply.asText());
        if ("cluster".equals(mode) || "sentinel".equals(mode)) {
            refuse("it is a " + (mode.equals("cluster") ? "cluster node" : "Sentinel")
                    + ": every node must be an independent master, clusters and Sentinels are not supported");
            return;
        }
        runId = field(reply.asText(), "run_id");
        final String uptime = field(reply.asText(), "uptime_in_seconds");
        // A clock that was set back since the start makes it negative, which says as little as zero does.
        final boolean isNumber = uptime != null && uptime.matches("-?[0-9]{1,18}");
        uptimeSeconds = isNumber ? Math.max(0, Long.parseLong(uptime)) : UNKNOWN;
        if (runId == null || uptimeSeconds == UNKNOWN) {
            refuse("its INFO has no run_id or no uptime_in_seconds, without which restarts cannot be told");
        }
    }

    private void onInfoReplication(final RespValue reply) {
        if (isOver || isWaitingForResp2() || reply == null) {
            return;
        }
        if (isNotReady(reply)) {
            return;
        }
        final String role = reply.isError() ? null : field(reply.asText(), "role");
        if (!"master".equals(role)) {
            refuse("its role is " + SafeText.of(role, SHOWN_LENGTH_MAX) + ": every node must be an independent master");
        }
    }

    private void onTime(final RespValue reply) {
        if (isOver || isWaitingForResp2() || reply == null || isNotReady(reply)) {
            return;
        }
        final long microseconds = microsecondsOf(reply);
        if (microseconds >= 0) {
            node.onClockSample(timeSentNs, node.nowNs(), microseconds);
        } else if (isClockWatched) {
            refuse(timeProblem(reply));
        }
    }

    static String timeProblem(final RespValue reply) {
        return "it does not tell its TIME, without which jumps of its clock cannot be seen (allow that command, or "
                + "switch the clock watch off): " + (reply.isError() ? codeOf(reply.asText()) : reply.type());
    }

    private void onScriptLoaded(final RespValue reply) {
        scriptsLeft--;
        if (isOver || reply == null) {
            return;
        }
        if (isWaitingForResp2()) {
            if (scriptsLeft == 0) {
                isResp2Greeted = true;
                start();
            }
            return;
        }
        if (isNotReady(reply)) {
            return;
        }
        if (reply.isError()) {
            refuse("it refuses the lock scripts: " + codeOf(reply.asText()));
        } else if (scriptsLeft == 0) {
            isOver = true;
            node.onIntroduced(runId, uptimeSeconds,
                    ServerCapabilities.of(delexReply, delIfEqualReply, setIfEqualReply));
        }
    }

    /** A node that loads its data or runs somebody's script is worth another try soon. */
    private boolean isNotReady(final RespValue reply) {
        if (!reply.isError() || !reply.asText().startsWith("LOADING") && !reply.asText().startsWith("BUSY")) {
            return false;
        }
        isOver = true;
        node.disconnect("it is not ready: " + codeOf(reply.asText()));
        return true;
    }

    /** RESP3 was refused, and the rest of what was sent with it is still being answered. */
    private boolean isWaitingForResp2() {
        return isResp2 && !isResp2Greeted;
    }

    private void refuse(final String reason) {
        if (!isOver) {
            isOver = true;
            node.onRefused(reason);
        }
    }

    private static boolean isError(final RespValue reply) {
        return reply != null && reply.isError();
    }

    /** The first word of an error. The rest may repeat what we sent, so it is left out. */
    static String codeOf(final String error) {
        final int blank = error.indexOf(' ');
        return SafeText.of(blank < 0 ? error : error.substring(0, blank), SHOWN_LENGTH_MAX);
    }

    /** Redis calls the field {@code redis_mode}, Valkey {@code server_mode}; null if there is neither. */
    private static String modeOf(final String info) {
        final String mode = field(info, "redis_mode");
        return mode == null ? field(info, "server_mode") : mode;
    }

    /** A field of INFO, or null. */
    static String field(final String info, final String name) {
        for (final String line : info.split("\r\n")) {
            if (line.startsWith(name + ":")) {
                return line.substring(name.length() + 1);
            }
        }
        return null;
    }

    static void writeTime(final ByteBuf out) {
        TIME.writeTo(out);
    }

    /**
     * The answer to TIME in microseconds since the epoch; -1 if it is no time, or one beyond April 2262, where
     * nanoseconds since the epoch end.
     */
    static long microsecondsOf(final RespValue reply) {
        if (!reply.type().isAggregate() || reply.isNull()) {
            return UNKNOWN;
        }
        final List<RespValue> parts = reply.elements();
        if (parts.size() != 2) {
            return UNKNOWN;
        }
        try {
            final long seconds = Long.parseLong(parts.get(0).asText());
            final long microseconds = Long.parseLong(parts.get(1).asText());
            final boolean isTime = seconds >= 0 && seconds < SECONDS_MAX
                    && microseconds >= 0 && microseconds < 1_000_000;
            return isTime ? seconds * 1_000_000 + microseconds : UNKNOWN;
        } catch (final NumberFormatException | IllegalStateException e) {
            return UNKNOWN;
        }
    }
}
