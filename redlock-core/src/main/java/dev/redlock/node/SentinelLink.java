package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.node.send.ErrorAdvice;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.RespWriter;
import dev.redlock.resp.SafeText;
import dev.redlock.time.DeadlineTimer;
import dev.redlock.transport.Login;
import dev.redlock.transport.NodeAddress;
import dev.redlock.transport.SentinelAddress;
import dev.redlock.transport.TlsChannel;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.List;

/**
 * One Sentinel of a group: it asks the Sentinel for the address of the primary, and subscribes to its changes.
 *
 * <pre>
 * [AUTH user password] | SENTINEL GET-MASTER-ADDR-BY-NAME name | SUBSCRIBE +switch-master
 *     | UNSUBSCRIBE +switch-master, SENTINEL GET-MASTER-ADDR-BY-NAME name, SUBSCRIBE +switch-master | ...
 * </pre>
 *
 * <p>In RESP2 a connection with a subscription accepts no other command, so each later question ends the subscription
 * and starts it again, in one write. A user without the right to subscribe only asks.
 *
 * @threading event-loop-confined
 */
final class SentinelLink
        implements
            NodeConnector.Listener<SentinelConnection>,
            SentinelConnection.Listener,
            Authenticator.Listener {

    private static final String CHANNEL = "+switch-master";
    /** {@code name old-host old-port new-host new-port}. */
    private static final int SWITCH_WORDS = 5;

    /**
     * Gets the answers.
     *
     * @threading event-loop-confined
     */
    interface Listener {

        /** The answer to a question. */
        void onAnswer(SentinelLink link, NodeAddress primary);

        /** The Sentinel has no answer: it does not know the name, or cannot be used. */
        void onNoAnswer(SentinelLink link, String reason, boolean isReply);

        /** The Sentinel has made another server the primary. */
        void onSwitch(SentinelLink link, NodeAddress primary);

        /** The connection ended while there was no question. */
        void onLost(SentinelLink link);

        /** The Sentinel accepts no subscription. */
        void onNotSubscribed(SentinelLink link, String reason);
    }

    final NodeAddress address;
    private final SentinelAddress group;
    private final NodeContext context;
    private final Listener listener;
    private final NodeConnector<SentinelConnection> connector;
    private final Authenticator authenticator;
    private final DeadlineTimer timer = new DeadlineTimer(nowNs -> onTimeout());
    /** Null unless it is open. */
    private SentinelConnection connection;
    private boolean isAsking;
    private boolean isSubscribed;
    private boolean mayNotSubscribe;

    SentinelLink(int index, NodeAddress address, SentinelAddress group, NodeContext context, ConnectLimit limit,
            Listener listener) {
        this.address = address;
        this.group = group;
        this.context = context;
        this.listener = listener;
        this.connector = new NodeConnector<>(address, context, limit, this::newConnection, this);
        this.authenticator = new Authenticator(context, context.options().access().sentinelLogins(), null,
                new NodeView(index, address, context, null), this);
    }

    private SentinelConnection newConnection(TlsChannel tls) {
        return new SentinelConnection(tls, this);
    }

    /** Asks for the primary, unless a question is under way. An answer, or none, follows. */
    void ask() {
        if (isAsking) {
            return;
        }
        isAsking = true;
        startTimer();
        if (connection == null) {
            connector.connect();
        } else {
            sendQuestion();
        }
    }

    /** Closes the connection, and forgets the question. */
    void close() {
        isAsking = false;
        isSubscribed = false;
        context.timers().stop(timer);
        connector.stop();
        authenticator.close();
        SentinelConnection open = connection;
        connection = null;
        if (open != null) {
            open.close();
        }
    }

    private void startTimer() {
        context.timers().start(timer, context.clock().nanoTime() + timeoutMs() * NS_PER_MS);
    }

    private long timeoutMs() {
        return context.options().timeouts().connectTimeoutMs();
    }

    private void onTimeout() {
        fail("no answer in " + timeoutMs() + " ms");
    }

    /** The connection cannot be used. */
    private void fail(String reason) {
        boolean wasAsking = isAsking;
        close();
        if (wasAsking) {
            listener.onNoAnswer(this, reason, false);
        } else {
            listener.onLost(this);
        }
    }

    // ---- the connection ---------------------------------------------------------------------------------------------

    @Override
    public void onConnecting() {
        // The timer runs.
    }

    @Override
    public void onAddressesSkipped(String text) {
        // The answer counts.
    }

    @Override
    public void onConnectRejected(String reason) {
        fail(reason);
    }

    @Override
    public void onConnectFailed(String reason) {
        fail(reason);
    }

    @Override
    public void onConnected(SentinelConnection opened) {
        connection = opened;
        connector.onHandshake(false);
        // A provider has a time limit of its own.
        context.timers().stop(timer);
        authenticator.start();
    }

    @Override
    public void onLogin(Login login) {
        SentinelConnection open = connection;
        if (open == null) {
            clear(login);
            return;
        }
        startTimer();
        if (login != null) {
            ByteBuf auth = Authenticator.authCommand(login, false);
            clear(login);
            open.send(auth, this::onAuth);
        }
        sendQuestion();
    }

    private static void clear(Login login) {
        if (login != null) {
            login.clear();
        }
    }

    @Override
    public void onLoginFailed(String reason) {
        fail(reason);
    }

    @Override
    public void onClosed(SentinelConnection closed, String reason) {
        // Else the connector has not passed it on, and reports its failure.
        if (closed == connection) {
            fail(reason);
        }
    }

    // ---- questions --------------------------------------------------------------------------------------------------

    private void sendQuestion() {
        SentinelConnection open = connection;
        if (open == null) {
            return;
        }
        if (isSubscribed) {
            open.send(command("UNSUBSCRIBE", CHANNEL), this::onUnsubscribed);
        }
        open.send(command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", group.name()), this::onPrimary);
        if (!mayNotSubscribe) {
            open.send(command("SUBSCRIBE", CHANNEL), this::onSubscribed);
        }
        open.flush();
    }

    private static ByteBuf command(String... words) {
        ByteBuf buffer = Unpooled.buffer();
        RespWriter.arrayHeader(buffer, words.length);
        for (String word : words) {
            RespWriter.bulkString(buffer, word);
        }
        return buffer;
    }

    private void onAuth(RespValue reply) {
        if (reply.isError()) {
            String code = ErrorAdvice.codeOf(reply.asText());
            fail("authentication failed: " + code + (code.equals("ERR")
                    ? "; the Sentinel may have no password: remove RedlockContext.sentinelCredentials"
                    : "; check the user and the password that RedlockContext.sentinelCredentials returns"));
        }
    }

    private void onUnsubscribed(RespValue reply) {
        isSubscribed = false;
        if (reply.isError()) {
            // The answer to the next command would be an error.
            mayNotSubscribe = true;
            fail("UNSUBSCRIBE failed: " + ErrorAdvice.codeOf(reply.asText()));
        }
    }

    private void onSubscribed(RespValue reply) {
        isSubscribed = !reply.isError();
        if (reply.isError() && !mayNotSubscribe) {
            mayNotSubscribe = true;
            listener.onNotSubscribed(this, ErrorAdvice.codeOf(reply.asText()));
        }
    }

    private void onPrimary(RespValue reply) {
        if (!isAsking) {
            return;
        }
        if (reply.isError()) {
            fail(problemOf(ErrorAdvice.codeOf(reply.asText())));
            return;
        }
        context.timers().stop(timer);
        isAsking = false;
        if (reply.isNull()) {
            listener.onNoAnswer(this, unknownNameText(group), true);
            return;
        }
        List<RespValue> parts = reply.type().isAggregate() ? reply.elements() : List.of();
        NodeAddress primary = parts.size() == 2
                ? serverAt(ServerReply.textOf(parts.get(0)), ServerReply.textOf(parts.get(1)))
                : null;
        if (primary == null) {
            isAsking = true;
            fail("its answer is no address: " + SafeText.of(reply.toString(), ServerReply.SHOWN_LENGTH_MAX));
        } else {
            listener.onAnswer(this, primary);
        }
    }

    static String unknownNameText(SentinelAddress group) {
        return "it knows no primary " + group.name();
    }

    private static String problemOf(String code) {
        return switch (code) {
            case "NOAUTH" -> "NOAUTH; the Sentinel requires a password: set RedlockContext.sentinelCredentials";
            case "NOPERM" -> "NOPERM; allow its user +sentinel|get-master-addr-by-name";
            case "ERR" -> "ERR; a Sentinel has the command SENTINEL GET-MASTER-ADDR-BY-NAME, so this is another"
                    + " server: write the address of a Sentinel";
            default -> "SENTINEL GET-MASTER-ADDR-BY-NAME failed: " + code;
        };
    }

    /** Null if it is no address. */
    private NodeAddress serverAt(String host, String port) {
        int number = port.matches("[0-9]{1,5}") ? Integer.parseInt(port) : 0;
        if (number < 1 || number > 65_535) {
            return null;
        }
        try {
            return group.server(host, number);
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    @Override
    public void onMessage(String text) {
        String[] words = text.split(" ");
        NodeAddress primary = words.length == SWITCH_WORDS && words[0].equals(group.name())
                ? serverAt(words[3], words[4])
                : null;
        if (primary != null) {
            listener.onSwitch(this, primary);
        }
    }
}
