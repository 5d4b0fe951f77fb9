package dev.redlock.node;

import dev.redlock.api.RestartGuardMode;
import dev.redlock.node.send.CommandKind;
import dev.redlock.node.send.CommandSender;
import dev.redlock.node.send.ErrorAdvice;
import dev.redlock.node.send.ScriptSources;
import dev.redlock.node.send.ServerCapabilities;
import dev.redlock.node.send.VoteFailure;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.SafeText;
import dev.redlock.time.NanoClock;
import dev.redlock.transport.Login;
import io.netty.buffer.ByteBuf;
import java.util.function.Consumer;

/**
 * The first commands on a connection, sent without waiting for replies: RESP3, authentication and names; the identity
 * and the role of the server; the scripts.
 *
 * <pre>
 * HELLO 3 [AUTH user password] [SETNAME name] | CLIENT TRACKING ON OPTIN NOLOOP | SUBSCRIBE redlock:wake:name
 *     | CLIENT SETINFO ... | INFO server | [CLUSTER MYID] | INFO replication | INFO memory | TIME
 *     | SET key:redlock:permit value XX PX 1 | MSETEX 1 key:redlock:permit value XX PX 1
 *     | DELEX key IFEQ value | DELIFEQ key value | SET key value IFEQ value PX 1
 *     | SCRIPT LOAD ... | EVALSHA ... | SCRIPT LOAD ...
 * </pre>
 *
 * <p>If scripts are optional, they are loaded after the replies to the conditional commands, and only on a node that
 * lacks one. Elsewhere the few commands that need a script, such as fenced acquires, load it when they meet
 * {@code NOSCRIPT}.
 *
 * <p>The conditional commands run on a key that does not exist, so they change nothing: a server that has the command
 * finds no key, and a server without it replies with an error. {@code MSETEX} and the script of {@link RightsProbe}
 * cannot compare values, so their key has a name that no lock can have.
 *
 * <p>A server without RESP3 gets the same commands again, with {@code AUTH} and {@code CLIENT SETNAME} in RESP2, and
 * without {@code SUBSCRIBE}. That command puts a connection in RESP2 into a mode that rejects most others, so
 * {@code UNSUBSCRIBE} ends it first.
 *
 * <p>A server that answers {@code SUBSCRIBE} out of order shifts the replies: the {@code run_id} in the reply to
 * {@code INFO server} shows that they belong to their commands. Each reply that makes the server unusable ends the
 * handshake:
 * <ul>
 * <li>The server is rejected if a person has to act: authentication, a replica, a missing permission.
 * <li>The handshake fails if the next one may succeed: the server is loading its data, or runs a script.
 * </ul>
 *
 * @threading event-loop-confined
 */
final class Handshake {

    /** It is shorter than a token and so no lock's value: an existing key of this name is not changed. */
    static final String PROBE_VALUE = "redlock:probe";
    private static final String NO_MEMORY = "no memory";
    private static final long UNKNOWN = -1;

    /**
     * How far the handshake is.
     *
     * @threading immutable
     */
    private enum Stage {
        /** All commands are sent; {@code HELLO 3} is the first. */
        RESP3,
        /** The server has no RESP3. The replies to the other commands of this try are ignored. */
        RESP3_REJECTED,
        /** All commands are sent again, without {@code HELLO}. */
        RESP2,
        /** The outcome is reported. */
        DONE
    }

    private final CommandSender sender;
    /** Null if the node needs none. Its password is cleared after the last command that contains it. */
    private final Login login;
    private final NanoClock clock;
    private final NodeSignals listener;
    private final NodeOptions.Guards guards;
    private final NodeOptions.Commands commands;
    private final NodeOptions.Access access;
    private final CommandProbe probe = new CommandProbe();
    private final PushSetup pushes;
    private Stage stage = Stage.RESP3;
    private String runId;
    private String readWriteProblem;
    private String evictionProblem;
    private long uptimeSeconds = UNKNOWN;
    private long timeSentNs;
    /** Null unless the voter is a cluster. */
    private String clusterNodeId;
    private ReplicationInfo replication;
    private int scriptsLeft = ScriptSources.SCRIPTED.size();

    /** The login belongs to the handshake. The listener gets one outcome, and nothing after it. */
    Handshake(CommandSender sender, Login login, NodeContext context, NodeSignals listener) {
        this.sender = sender;
        this.login = login;
        this.clock = context.clock();
        this.listener = listener;
        this.guards = context.options().guards();
        this.commands = context.options().commands();
        this.access = context.options().access();
        this.pushes = new PushSetup(context.platform().waiter().channel());
    }

    void start() {
        try {
            sendAll();
        } catch (RuntimeException | Error e) {
            clearLogin();
            stage = Stage.DONE;
            listener.onHandshakeFailed("the handshake cannot be sent: " + e);
        }
    }

    private void sendAll() {
        if (stage == Stage.RESP2) {
            pushes.onNone("the server has no RESP3");
            if (pushes.isUnsubscribeNeeded()) {
                send(sender.command("UNSUBSCRIBE", pushes.channel), this::onIgnored);
            }
            sendResp2Greeting();
        } else {
            send(hello(), this::onHello);
            sendTracking();
        }
        send(sender.command("CLIENT", "SETINFO", "LIB-NAME", "redlock"), this::onIgnored);
        send(sender.command("INFO", "server"), this::onInfoServer);
        if (isMember()) {
            send(sender.command("CLUSTER", "MYID"), this::onClusterId);
        }
        send(sender.command("INFO", "replication"), this::onInfoReplication);
        send(sender.command("INFO", "memory"), this::onInfoMemory);
        timeSentNs = clock.nanoTime();
        send(sender.timeCommand(), this::onTime);
        if (commands.probeKey() != null) {
            probe();
        }
        if (!commands.areScriptsOptional()) {
            loadScripts();
        }
    }

    private void loadScripts() {
        send(sender.scriptLoad(RightsProbe.SOURCE), this::onProbeLoaded);
        send(sender.command("EVALSHA", RightsProbe.SHA, "0", commands.ownKey()), this::onRights);
        scriptsLeft = ScriptSources.SCRIPTED.size();
        for (CommandKind kind : ScriptSources.SCRIPTED) {
            send(sender.scriptLoad(ScriptSources.source(kind)), this::onScriptLoaded);
        }
    }

    /** The node tracks nothing until an acquire asks for it. */
    private void sendTracking() {
        if (commands.areWakeUpsWanted()) {
            send(sender.command("CLIENT", "TRACKING", "ON", "OPTIN", "NOLOOP"), this::onTracking);
            if (!isMember() && !sender.sendSubscribe(this::onSubscribe)) {
                throw new IllegalStateException(NO_MEMORY);
            }
        } else {
            pushes.onNone("switched off: RedlockContext.wakeUpKeysMax is 0, or the command mode is NATIVE");
        }
    }

    private void onTracking(RespValue reply) {
        if (stage == Stage.RESP3 && reply != null) {
            pushes.onTracking(reply);
        }
    }

    private void onSubscribe(RespValue reply) {
        if (reply == null) {
            return;
        }
        if (stage == Stage.RESP3_REJECTED) {
            pushes.onSubscribeInResp2(reply);
        } else if (isUsable(reply)) {
            String problem = pushes.onSubscribe(reply);
            if (problem != null) {
                fail(problem);
            }
        }
    }

    /** A node that rejects one of these commands gets the script instead. */
    private void probe() {
        send(sender.command("SET", commands.ownKey(), PROBE_VALUE, "XX", "PX", "1"), reply -> probe.setReply = reply);
        send(sender.command("MSETEX", "1", commands.ownKey(), PROBE_VALUE, "XX", "PX", "1"),
                reply -> probe.setAllReply = reply);
        send(sender.command("DELEX", commands.probeKey(), "IFEQ", PROBE_VALUE), reply -> probe.delexReply = reply);
        send(sender.command("DELIFEQ", commands.probeKey(), PROBE_VALUE), reply -> probe.delIfEqualReply = reply);
        send(sender.command("SET", commands.probeKey(), PROBE_VALUE, "IFEQ", PROBE_VALUE, "PX", "1"), this::onProbed);
    }

    private void onProbed(RespValue reply) {
        probe.setIfEqualReply = reply;
        if (!commands.areScriptsOptional() || isResp2Next(reply) || !isUsable(reply)) {
            return;
        }
        if (probe.problem() != null) {
            reject(probe.problem());
            return;
        }
        if (!capabilities().areScriptsNeeded()) {
            finish();
            return;
        }
        try {
            loadScripts();
        } catch (RuntimeException | Error e) {
            stage = Stage.DONE;
            listener.onHandshakeFailed("the scripts cannot be sent: " + e);
        }
    }

    /** A handshake needs memory for all of its commands. */
    private void send(ByteBuf command, Consumer<RespValue> handler) {
        if (!sender.sendValue(command, handler)) {
            throw new IllegalStateException(NO_MEMORY);
        }
    }

    /** {@code HELLO 3 [AUTH user password] [SETNAME name]}. */
    private ByteBuf hello() {
        String clientName = access.clientName();
        boolean hasName = clientName != null;
        if (login == null) {
            return hasName ? sender.command("HELLO", "3", "SETNAME", clientName) : sender.command("HELLO", "3");
        }
        String user = Authenticator.userOf(login);
        return hasName
                ? SecretBuffer.ofCommand("HELLO", "3", "AUTH", user, login.password(), "SETNAME", clientName)
                : SecretBuffer.ofCommand("HELLO", "3", "AUTH", user, login.password());
    }

    private void sendResp2Greeting() {
        if (login != null) {
            send(Authenticator.authCommand(login, false), this::onAuth);
            clearLogin();
        }
        if (access.clientName() != null) {
            send(sender.command("CLIENT", "SETNAME", access.clientName()), this::onIgnored);
        }
    }

    private void clearLogin() {
        if (login != null) {
            login.clear();
        }
    }

    private void onHello(RespValue reply) {
        String error = isError(reply) ? reply.asText() : "";
        if (stage == Stage.RESP3 && (error.startsWith("NOPROTO") || error.startsWith("ERR unknown command"))) {
            stage = Stage.RESP3_REJECTED;
            return;
        }
        clearLogin();
        if (isError(reply) && !isTemporary(reply, "HELLO")) {
            reject(helloProblem(error));
        }
    }

    private String helloProblem(String error) {
        String code = ErrorAdvice.codeOf(error);
        if (code.equals("WRONGPASS") || code.equals("NOAUTH")) {
            return authenticationProblem(code);
        }
        if (error.startsWith("ERR max number of clients")) {
            return "max number of clients reached: raise maxclients on the node, or close other connections to it";
        }
        return "HELLO failed: " + ErrorAdvice.ofCommand(code, ", and check the node's address");
    }

    private String authenticationProblem(String code) {
        if (access.loginSource() != null) {
            return "authentication failed: " + code
                    + "; check the user and the password that the credentials provider returns";
        }
        return "authentication failed: " + code + (code.equals("NOAUTH")
                ? "; the server requires a password, add user and password to the node's address or set"
                        + " RedlockContext.credentials"
                : "; check the user and the password in the node's address");
    }

    private void onAuth(RespValue reply) {
        if (isError(reply) && !isTemporary(reply, "AUTH")) {
            reject(authenticationProblem(ErrorAdvice.codeOf(reply.asText())));
        }
    }

    private void onIgnored(RespValue reply) {
        // Names help people only; a server without the command is usable.
    }

    /** Whether the reply counts; a server that is not ready fails the handshake. */
    private boolean isUsable(RespValue reply) {
        return reply != null && (stage == Stage.RESP3 || stage == Stage.RESP2) && !isNotReady(reply);
    }

    private boolean isNotReady(RespValue reply) {
        VoteFailure failure = ServerReply.failureOf(reply);
        if (failure != VoteFailure.LOADING && failure != VoteFailure.BUSY) {
            return false;
        }
        fail("the server is not ready: " + failure.text() + "; " + ErrorAdvice.of(failure));
        return true;
    }

    /** Whether the server cannot execute a command that the client needs now: the next handshake may succeed. */
    private boolean isTemporary(RespValue reply, String command) {
        VoteFailure failure = ServerReply.failureOf(reply);
        if (failure.isTemporary()) {
            fail(command + " failed: " + failure.text() + "; " + ErrorAdvice.of(failure));
        }
        return failure.isTemporary();
    }

    private void fail(String reason) {
        if (stage != Stage.DONE) {
            stage = Stage.DONE;
            listener.onHandshakeFailed(reason);
        }
    }

    /** Whether the server has not executed a command that the client needs. */
    private boolean isRejected(RespValue reply, String command, String use) {
        if (RightsProbe.Denial.of(reply) == RightsProbe.Denial.UNKNOWN) {
            reject(RightsProbe.problemOf(command, RightsProbe.Denial.UNKNOWN, use));
        } else if (reply.isError() && !isTemporary(reply, command)) {
            reject(command + " failed: " + ErrorAdvice.ofCommand(ErrorAdvice.codeOf(reply.asText()), ", " + use));
        }
        return reply.isError();
    }

    private void onInfoServer(RespValue reply) {
        if (!isUsable(reply) || isRejected(reply, "INFO", infoUse())) {
            return;
        }
        String mode = modeOf(reply.asText());
        if ("cluster".equals(mode) && !isMember()) {
            reject("the server is part of a cluster: write redis-cluster:// in its address, or configure an independent"
                    + " master");
            return;
        }
        if ("sentinel".equals(mode)) {
            reject("the server is a Sentinel: a node must be an independent master, configure the master's"
                    + " address, or redis-sentinel://host:port/name");
            return;
        }
        if (isMember() && !"cluster".equals(mode)) {
            reject("the server is part of no cluster: write its address without redis-cluster://, as host:port");
            return;
        }
        runId = ServerReply.field(reply.asText(), "run_id");
        String uptime = ServerReply.field(reply.asText(), "uptime_in_seconds");
        // A clock that was set back since the server's start makes the uptime negative: treat it as zero.
        boolean isNumber = uptime != null && uptime.matches("-?[0-9]{1,18}");
        uptimeSeconds = isNumber ? Math.max(0, Long.parseLong(uptime)) : UNKNOWN;
        if (runId == null || uptimeSeconds == UNKNOWN) {
            reject("INFO server has no valid " + (runId == null ? "run_id" : "uptime_in_seconds") + ", by which the"
                    + " client recognizes a restart and two addresses of one server: the server is not supported, or a"
                    + " proxy replies; use Redis 6.2 or newer, or Valkey, and its own address");
            return;
        }
        listener.onProcess(runId);
    }

    /** The client needs the identity of a server without the guard too: two addresses may be one server. */
    private String infoUse() {
        return guards.mode() != RestartGuardMode.OFF
                ? "which the restart guard needs, and which shows the role of the server"
                : "which shows the identity and the role of the server";
    }

    private void onInfoReplication(RespValue reply) {
        if (!isUsable(reply) || isRejected(reply, "INFO replication", "which shows the role of the server")) {
            return;
        }
        replication = ReplicationInfo.of(reply.asText());
        if (isMember()) {
            if (replication.id() == null) {
                reject("INFO replication lacks master_replid, which shows promotions; connect to the server itself");
            }
            return;
        }
        if (!replication.isMaster() && stage != Stage.DONE) {
            stage = Stage.DONE;
            listener.onNoMaster(replication.role());
        }
    }

    /** A policy for volatile keys evicts locks too. Nothing is evicted without a limit. */
    private void onInfoMemory(RespValue reply) {
        if (!isUsable(reply)) {
            return;
        }
        String limit = ServerReply.field(ServerReply.textOf(reply), "maxmemory");
        String policy = ServerReply.field(ServerReply.textOf(reply), "maxmemory_policy");
        boolean mayEvict = limit != null && !limit.equals("0") && policy != null && !policy.equals("noeviction");
        evictionProblem = mayEvict
                ? "maxmemory-policy is " + SafeText.of(policy, ServerReply.SHOWN_LENGTH_MAX) + " and maxmemory "
                        + SafeText.of(limit, ServerReply.SHOWN_LENGTH_MAX) + " bytes, so the server may evict held"
                        + " locks: set maxmemory-policy noeviction"
                : null;
    }

    private boolean isMember() {
        return sender.isOfCluster();
    }

    private void onClusterId(RespValue reply) {
        String use = "which the client needs on a cluster";
        if (!isUsable(reply) || isRejected(reply, "CLUSTER MYID", use)) {
            return;
        }
        if (reply.isNull()) {
            reject("CLUSTER MYID failed: no id; allow the command, " + use);
        } else {
            clusterNodeId = reply.asText();
        }
    }

    private void onTime(RespValue reply) {
        if (!isUsable(reply)) {
            return;
        }
        long wallUs = ServerReply.microsecondsOf(reply);
        if (wallUs >= 0) {
            listener.onClockSample(timeSentNs, clock.nanoTime(), wallUs);
        } else if (guards.clockSampleMs() > 0 && !isTemporary(reply, "TIME")) {
            reject(ServerReply.problemOf(reply));
        }
    }

    private void onProbeLoaded(RespValue reply) {
        if (isUsable(reply)) {
            isScriptRejected(reply);
        }
    }

    private boolean isScriptRejected(RespValue reply) {
        String where = commands.areScriptsOptional() ? " on a server without DELEX or DELIFEQ, and SET IFEQ" : "";
        return isRejected(reply, "SCRIPT LOAD", "which the lock needs" + where);
    }

    private void onRights(RespValue reply) {
        if (!isUsable(reply)) {
            return;
        }
        RightsProbe rights = new RightsProbe(reply);
        readWriteProblem = rights.readWriteProblem();
        pushes.onMessageProblem(rights.messageProblem());
        if (rights.problem() != null) {
            reject(rights.problem());
        }
    }

    private void onScriptLoaded(RespValue reply) {
        scriptsLeft--;
        if (scriptsLeft == 0 && isResp2Next(reply) || !isUsable(reply)) {
            return;
        }
        if (!isScriptRejected(reply) && scriptsLeft == 0) {
            finish();
        }
    }

    /** After the last reply of the first try: whether the server has no RESP3, so that the second try starts. */
    private boolean isResp2Next(RespValue lastReply) {
        if (stage != Stage.RESP3_REJECTED) {
            return false;
        }
        if (lastReply == null) {
            clearLogin();
        } else {
            stage = Stage.RESP2;
            start();
        }
        return true;
    }

    private ServerCapabilities capabilities() {
        return probe.capabilities().withPushes(pushes.result()).withProblems(readWriteProblem, evictionProblem);
    }

    private void finish() {
        stage = Stage.DONE;
        listener.onHandshake(runId, uptimeSeconds, capabilities(), new MemberIdentity(clusterNodeId, replication));
    }

    private void reject(String reason) {
        if (stage != Stage.DONE) {
            stage = Stage.DONE;
            listener.onRejected(reason);
        }
    }

    private static boolean isError(RespValue reply) {
        return reply != null && reply.isError();
    }

    /** Redis calls the field {@code redis_mode}, Valkey {@code server_mode}; null if there is neither. */
    private static String modeOf(String info) {
        String mode = ServerReply.field(info, "redis_mode");
        return mode == null ? ServerReply.field(info, "server_mode") : mode;
    }
}
