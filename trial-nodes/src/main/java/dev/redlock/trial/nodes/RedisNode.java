package dev.redlock.trial.nodes;

import dev.redlock.cli.AdminClient;
import dev.redlock.transport.NodeAddress;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * One node: its address, and methods to stop, freeze and restart it. Each method returns when it has taken effect;
 * {@link #start()} and {@link #restart(Data)} return when the node answers PING.
 *
 * <p>The address stays the same over restarts. A node that was given by address cannot be changed.
 *
 * @threading any thread
 */
public final class RedisNode {
    private static final Duration END_LIMIT = Duration.ofSeconds(10);
    private static final int PORT_TRIES_MAX = 5;

    private final RedisNodes group;
    private final NodeProcess.Launcher launcher;
    private final Duration readyTimeout;
    private final String password;
    /** Null if the node was started here. */
    private final RedisNodesContext.GivenAddress given;
    private NodeSpec spec;
    private NodeAddress address;
    private NodeProcess process;
    private NodeState state;

    private RedisNode(RedisNodes group, NodeProcess.Launcher launcher, NodeSpec spec, NodeAddress address,
            RedisNodesContext.GivenAddress given, RedisNodesContext context) {
        this.group = group;
        this.given = given;
        this.launcher = launcher;
        this.spec = spec;
        this.address = address;
        this.readyTimeout = context.readyTimeout;
        this.password = context.serverPassword();
        this.state = launcher == null ? NodeState.RUNNING : NodeState.STOPPED;
    }

    static RedisNode given(RedisNodes group, int index, NodeAddress address, RedisNodesContext.GivenAddress given,
            RedisNodesContext context) {
        NodeSpec spec = new NodeSpec(index, address.port(), null, false, null, context.configLines, null,
                NodePlace.LOOPBACK, null, 0);
        return new RedisNode(group, null, spec, address, given, context);
    }

    static RedisNode ours(RedisNodes group, NodeProcess.Launcher launcher, NodeSpec spec, RedisNodesContext context) {
        return new RedisNode(group, launcher, spec, addressOf(spec, context.serverPassword()), null, context);
    }

    private static NodeAddress addressOf(NodeSpec spec, String password) {
        String hostPort = spec.place().host() + ":" + spec.port();
        return NodeAddress.parse(password == null ? hostPort : "redis://:" + password + "@" + hostPort);
    }

    public int index() {
        return spec.index();
    }

    /** Whether the node is the primary that Sentinels named when it was given. */
    public boolean isOfSentinels() {
        return given != null && given.isOfSentinels();
    }

    /** The address that was given. */
    RedisNodesContext.GivenAddress given() {
        return given;
    }

    /** The address in the form that {@code Redlock.connect} takes, with its password; that of its Sentinels, if any. */
    public String uri() {
        return isOfSentinels() ? given.text() : NodeUris.of(address());
    }

    /** Its address, with the credentials it was started with. */
    public synchronized NodeAddress address() {
        return address;
    }

    /**
     * Its address with TLS. A node that was started here has one without TLS too, for administration.
     *
     * @return empty unless asked for with {@link RedisNodesContext#tls(boolean)}, or given
     */
    public synchronized Optional<NodeAddress> tlsAddress() {
        if (address.isTls()) {
            return Optional.of(address);
        }
        return spec.tls() == null
                ? Optional.empty()
                : Optional.of(NodeAddress.parse("rediss://" + (password == null ? "" : ":" + password + "@")
                        + spec.place().host() + ":" + spec.tlsPort()));
    }

    /** Empty unless asked for with {@link RedisNodesContext#unixSocket(boolean)}. */
    public Optional<Path> unixSocket() {
        return Optional.ofNullable(spec.socketFile());
    }

    /** Its process id; empty when it is stopped, given by address or in a container. */
    public synchronized OptionalLong pid() {
        return process == null || state == NodeState.STOPPED ? OptionalLong.empty() : process.pid();
    }

    /** The state after the last call; a server that has crashed still counts as running. */
    public synchronized NodeState state() {
        return state;
    }

    /** Starts a stopped node with the data on its disk. */
    public void start() {
        require(NodeState.STOPPED, "start");
        launch();
        awaitReady();
    }

    /** Stops the node in an orderly way (SIGTERM). */
    public synchronized void stop() {
        requireRunning("stop");
        thaw();
        process.terminate();
        awaitEnded("stop");
    }

    /** Stops the node like a crash (SIGKILL). */
    public synchronized void kill() {
        requireRunning("kill");
        process.kill();
        awaitEnded("kill");
    }

    /** Freezes the node (SIGSTOP): its connections stay open and it does not reply. */
    public synchronized void pause() {
        require(NodeState.RUNNING, "pause");
        attempt("pause", process::pause);
        state = NodeState.PAUSED;
    }

    /**
     * Sets the node's wall clock apart from the machine's, at once; its monotonic clock is left alone.
     *
     * @param offset from the machine's clock; zero sets it right again
     * @throws IllegalStateException if the nodes were started without {@link RedisNodesContext#clockLibrary}
     */
    public synchronized void setClock(Duration offset) {
        requireOurs("set the clock of");
        if (spec.clockLibrary() == null) {
            throw new IllegalStateException(this + " has the machine's clock: start the nodes with clockLibrary");
        }
        attempt("set the clock of", () -> spec.writeClock(offset));
    }

    /** Thaws a frozen node (SIGCONT); it then replies to the commands sent meanwhile. */
    public synchronized void resume() {
        require(NodeState.PAUSED, "resume");
        attempt("resume", process::resume);
        state = NodeState.RUNNING;
    }

    /**
     * Kills the node (unless it is stopped already) and starts it again on the same address.
     *
     * @throws IllegalStateException if keys are to be kept and the nodes were started without an append-only file
     */
    public void restart(Data data) {
        if (data == Data.KEPT && !spec.isAppendOnly()) {
            throw new IllegalStateException(
                    this + " has no append-only file to keep data in: start the nodes with appendOnly(true)");
        }
        if (state() != NodeState.STOPPED) {
            kill();
        }
        if (data == Data.LOST) {
            discard();
        }
        start();
    }

    /** A connection for set-up and checks, authenticated if the address has a password. */
    public AdminClient connect() {
        try {
            return AdminClient.connect(address(), readyTimeout, group.tls());
        } catch (IOException e) {
            throw new UncheckedIOException("cannot connect to " + this, e);
        }
    }

    /** Sends one command over a connection of its own. */
    public Object call(String... words) {
        try (AdminClient redis = connect()) {
            return redis.call(words);
        } catch (IOException e) {
            throw new UncheckedIOException(this + " did not answer " + words[0], e);
        }
    }

    public boolean isAnswering(Duration limit) {
        return whyNotReady(limit) == null;
    }

    /** The first start. If another process has taken the chosen port, it chooses another one. */
    void startFirst() {
        for (int tries = 1;; tries++) {
            try {
                awaitReady();
                return;
            } catch (IllegalStateException e) {
                if (tries == PORT_TRIES_MAX || !e.getMessage().contains("Address already in use")) {
                    throw e;
                }
                moveTo(FreePorts.next());
                launch();
            }
        }
    }

    private synchronized void moveTo(int port) {
        end();
        spec = spec.withPorts(port, spec.tls() == null ? 0 : FreePorts.next());
        address = addressOf(spec, password);
    }

    synchronized void launch() {
        if (group.isClosed()) {
            throw new IllegalStateException(this + " cannot start: the nodes are closed");
        }
        attempt("start", () -> process = process == null ? launcher.start().launch(spec) : process.again());
        group.guard().onStarted(process.pid());
        state = NodeState.RUNNING;
    }

    private synchronized void discard() {
        attempt("remove the data of", process::discard);
        process = null;
    }

    /** Ends the node in any state, without an error. */
    synchronized void end() {
        if (launcher == null || process == null) {
            return;
        }
        process.kill();
        if (process.awaitEnd(END_LIMIT)) {
            group.guard().onEnded(process.pid());
        }
        state = NodeState.STOPPED;
        discard();
    }

    private void awaitReady() {
        long deadlineNs = System.nanoTime() + readyTimeout.toNanos();
        for (String why = whyNotReady(readyTimeout); why != null; why = whyNotReady(readyTimeout)) {
            NodeProcess current = current();
            if (current.awaitEnd(Duration.ofMillis(2))) {
                throw new IllegalStateException(this + " ended at its start: " + current.lastWords());
            }
            if (deadlineNs - System.nanoTime() < 0) {
                throw new IllegalStateException(this + " is not ready after " + readyTimeout + ": " + why);
            }
        }
    }

    private synchronized NodeProcess current() {
        if (group.isClosed() || process == null) {
            throw new IllegalStateException(this + " was ended while it started");
        }
        return process;
    }

    /** Null when ready. The process id distinguishes the started server from another one on the same port. */
    String whyNotReady(Duration limit) {
        try (AdminClient redis = AdminClient.connect(address(), limit, group.tls())) {
            Object reply = redis.call("PING");
            if (!"PONG".equals(reply)) {
                return "PING answered " + reply;
            }
            String pid = redis.info("process_id");
            OptionalLong own = pid();
            return own.isEmpty() || pid.equals(Long.toString(own.getAsLong()))
                    ? null
                    : "port " + address().port() + " is served by process " + pid + ", not by the started one";
        } catch (IOException e) {
            return String.valueOf(e.getMessage());
        }
    }

    private void thaw() {
        if (state == NodeState.PAUSED) {
            resume();
        }
    }

    private void awaitEnded(String verb) {
        if (!process.awaitEnd(END_LIMIT)) {
            throw new IllegalStateException(this + " did not " + verb + " within " + END_LIMIT);
        }
        group.guard().onEnded(process.pid());
        state = NodeState.STOPPED;
    }

    private void requireRunning(String verb) {
        requireOurs(verb);
        if (state == NodeState.STOPPED) {
            throw new IllegalStateException("cannot " + verb + " " + this + ": it is STOPPED");
        }
    }

    private synchronized void require(NodeState wanted, String verb) {
        requireOurs(verb);
        if (state != wanted) {
            throw new IllegalStateException("cannot " + verb + " " + this + ": it is " + state + ", not " + wanted);
        }
    }

    private void requireOurs(String verb) {
        if (launcher == null) {
            throw new IllegalStateException(
                    "cannot " + verb + " " + this + ": it was given by address; only nodes that were started here can "
                            + "be changed");
        }
    }

    private void attempt(String verb, NodeVerb action) {
        try {
            action.run();
        } catch (IOException e) {
            throw new IllegalStateException("cannot " + verb + " " + this + ": " + e.getMessage(), e);
        }
    }

    @Override
    public String toString() {
        return "node " + spec.index() + " (" + address() + ")";
    }

    /** @threading caller-confined */
    @FunctionalInterface
    private interface NodeVerb {
        void run() throws IOException;
    }
}
