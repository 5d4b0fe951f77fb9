package dev.redlock.trial.nodes;

import dev.redlock.cli.ClientTls;
import dev.redlock.cli.Counted;
import dev.redlock.cli.SentinelQuestion;
import dev.redlock.transport.NodeAddress;
import dev.redlock.transport.SentinelAddress;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;

/**
 * N independent Redis or Valkey servers for tests, benchmarks and load, given by address or started here.
 *
 * <p>Sources are tried in the order of {@link Source}; {@link #choice()} names the one that was taken and why the ones
 * before it were not. Servers started here listen on loopback only, on free ports, each in a temporary folder of its
 * own, without persistence unless asked. They are ended by process id: by {@link #close()}, or by a shutdown hook when
 * the JVM ends first.
 *
 * <pre>{@code
 * try (RedisNodes nodes = RedisNodes.start(5)) {
 *     String[] addresses = nodes.addresses();
 *     nodes.node(0).kill();
 *     nodes.node(0).restart(Data.LOST);
 * }
 * }</pre>
 *
 * @threading any thread
 */
public final class RedisNodes implements AutoCloseable {
    private static final Duration GIVEN_LIMIT = Duration.ofSeconds(2);
    private static final int SOCKET_PATH_BYTES_MAX = 103;

    private final Source source;
    private final Path folder;
    private final List<RedisNode> nodes = new CopyOnWriteArrayList<>();
    private final AtomicBoolean isClosed = new AtomicBoolean();
    private final OrphanGuard guard;
    private NodeTls issued;
    private ClientTls tls = ClientTls.DEFAULTS;
    private volatile Runnable beforeEnd = () -> {
    };
    private String choice;

    private RedisNodes(Source source, Path folder, OrphanGuard guard) {
        this.guard = guard;
        this.source = source;
        this.folder = folder;
    }

    /** Starts fresh nodes from the first source that works, each of which has answered PING. */
    public static RedisNodes start(int count) {
        return start(new RedisNodesContext().count(count));
    }

    /**
     * Finds or starts nodes.
     *
     * @return running nodes, each of which has answered PING; of given addresses, a majority has
     * @throws NodesUnavailableException if no source works; the message holds each one's reason
     */
    public static RedisNodes start(RedisNodesContext context) {
        context.conclude();
        if (!context.addresses.isEmpty()) {
            return given(context);
        }
        return ours(context);
    }

    private static RedisNodes given(RedisNodesContext context) {
        RedisNodes nodes = new RedisNodes(Source.GIVEN, null, null);
        nodes.tls = context.clientTls;
        List<RedisNodesContext.GivenAddress> used = context.addresses.subList(0, context.count);
        Set<NodeAddress> servers = new HashSet<>();
        for (RedisNodesContext.GivenAddress given : used) {
            NodeAddress server = server(given, context);
            if (!servers.add(server)) {
                throw new NodesUnavailableException("the address " + given + " leads to " + server
                        + ", and so does another one: name each node once, or the quorum is wrong");
            }
            nodes.nodes.add(RedisNode.given(nodes, nodes.size(), server, given, context));
        }
        List<String> down = nodes.nodes.stream()
                .map(RedisNodes::whyDown)
                .filter(why -> why != null)
                .collect(Collectors.toList());
        int answering = nodes.size() - down.size();
        if (answering < nodes.size() / 2 + 1) {
            throw new NodesUnavailableException("only " + answering + " of " + nodes.size()
                    + " given addresses answer PING, a majority is needed: " + String.join("; ", down));
        }
        nodes.choice = Counted.of(nodes.size(), "node") + ": given addresses"
                + nodes.nodes.stream()
                        .filter(RedisNode::isOfSentinels)
                        .map(node -> ", " + node.address() + " is the primary of " + node.given())
                        .collect(Collectors.joining())
                + (down.isEmpty() ? "" : " (down: " + down + ")");
        return nodes;
    }

    private static NodeAddress server(RedisNodesContext.GivenAddress given, RedisNodesContext context) {
        try {
            return given.voter() instanceof SentinelAddress group
                    ? SentinelQuestion.primaryOf(group, GIVEN_LIMIT, context.clientTls)
                    : (NodeAddress) given.voter();
        } catch (IOException e) {
            throw new NodesUnavailableException(e.getMessage());
        }
    }

    private static String whyDown(RedisNode node) {
        String why = node.whyNotReady(GIVEN_LIMIT);
        return why == null ? null : node + ": " + why;
    }

    private static RedisNodes ours(RedisNodesContext context) {
        List<String> refusals = new ArrayList<>();
        CorePin.Choice cores = context.pin.choose();
        for (Source source : Source.values()) {
            try {
                if (source == context.source().orElse(source)) {
                    return from(source, context, source == Source.CONTAINER ? cores.inContainer() : cores, refusals);
                }
            } catch (SourceRefusedException e) {
                if (source != Source.GIVEN || context.source().isPresent()) {
                    refusals.add(source.title() + ": " + e.getMessage());
                }
            }
        }
        throw new NodesUnavailableException("no nodes available: " + String.join("; ", refusals));
    }

    private static RedisNodes from(Source source, RedisNodesContext context, CorePin.Choice cores,
            List<String> refusals) throws SourceRefusedException {
        if (source == Source.GIVEN) {
            throw new SourceRefusedException("none given");
        }
        RedisNodes nodes = new RedisNodes(source, temporaryFolder(), OrphanGuard.start());
        try {
            LiveNodes.add(nodes);
            NodeProcess.Launcher launcher = launcher(source, context, nodes.folder);
            if (context.tls) {
                nodes.issued = context.issued == null
                        ? NodeTls.issue(nodes.folder, context.hosts())
                        : context.issued;
                nodes.tls = nodes.issued.forClients();
            }
            nodes.startAll(launcher, context, cores);
            nodes.choice = Counted.of(context.count, "node") + ": " + source.title() + ", " + launcher.product()
                    + cores.words()
                    + (refusals.isEmpty() ? "" : " (" + String.join("; ", refusals) + ")");
            return nodes;
        } catch (SourceRefusedException e) {
            nodes.close();
            throw e;
        } catch (IllegalStateException e) {
            nodes.close();
            throw new SourceRefusedException(e.getMessage());
        }
    }

    private static NodeProcess.Launcher launcher(Source source, RedisNodesContext context, Path folder)
            throws SourceRefusedException {
        return switch (source) {
            case PATH -> ServerFiles.onPath(context.serverFolder == null
                    ? System.getenv().getOrDefault("PATH", "")
                    : context.serverFolder);
            case EMBEDDED -> ServerFiles.embedded(folder);
            case CONTAINER -> containers(context);
            case GIVEN -> throw new IllegalArgumentException("given addresses are not launched");
        };
    }

    /** An optional dependency: load-test.jar has it beside it, and someone may have copied the jar alone. */
    private static NodeProcess.Launcher containers(RedisNodesContext context) throws SourceRefusedException {
        try {
            return ContainerProcess.find(context);
        } catch (NoClassDefFoundError e) {
            throw new SourceRefusedException(
                    "there is no Testcontainers on the class path; for load-test.jar, keep the "
                            + "folder containers beside it");
        }
    }

    private static Path temporaryFolder() {
        try {
            return TemporaryFolders.create("redlock-nodes-");
        } catch (IOException e) {
            throw new UncheckedIOException("cannot make a temporary folder for the nodes", e);
        }
    }

    private void startAll(NodeProcess.Launcher launcher, RedisNodesContext context, CorePin.Choice cores) {
        for (int i = 0; i < context.count; i++) {
            nodes.add(RedisNode.ours(this, launcher, spec(i, context, cores), context));
        }
        nodes.forEach(RedisNode::launch);
        nodes.forEach(RedisNode::startFirst);
    }

    private NodeSpec spec(int index, RedisNodesContext context, CorePin.Choice cores) {
        Path own = folder.resolve("node" + index);
        Path socket = context.unixSocket ? own.resolve("redis.sock") : null;
        if (socket != null && socket.toString().getBytes(StandardCharsets.UTF_8).length > SOCKET_PATH_BYTES_MAX) {
            throw new IllegalStateException("the path of a Unix socket is at most " + SOCKET_PATH_BYTES_MAX
                    + " bytes long and the temporary folder is too deep: " + socket);
        }
        return new NodeSpec(index, freshPort(), own, context.appendOnly, socket, context.configLines,
                context.clockLibrary, context.place(index).with(cores.prefix()), issued,
                issued == null ? 0 : freshPort());
    }

    private int freshPort() {
        int port = FreePorts.next();
        while (isTaken(port)) {
            port = FreePorts.next();
        }
        return port;
    }

    private boolean isTaken(int port) {
        return nodes.stream().anyMatch(node -> node.address().port() == port);
    }

    public Source source() {
        return source;
    }

    /** One line for the user, without credentials: how many, which source, and why earlier sources were refused. */
    public String choice() {
        return choice;
    }

    public int size() {
        return nodes.size();
    }

    public RedisNode node(int index) {
        return nodes.get(index);
    }

    public List<RedisNode> nodes() {
        return List.copyOf(nodes);
    }

    /** The files of started nodes with TLS; null without. */
    NodeTls issued() {
        return issued;
    }

    /** The files for clients with TLS, issued or given. */
    public ClientTls tls() {
        return tls;
    }

    /** Every address with TLS; those of started nodes only if asked for. */
    public String[] tlsAddresses() {
        return nodes.stream().flatMap(node -> node.tlsAddress().stream()).map(NodeUris::of).toArray(String[]::new);
    }

    /** Every address in the form that {@code Redlock.connect} takes. Holds passwords where there are any. */
    public String[] addresses() {
        return nodes.stream().map(RedisNode::uri).toArray(String[]::new);
    }

    OrphanGuard guard() {
        return guard;
    }

    /**
     * Sets an action to run on the shutdown of the JVM before the nodes end, such as stopping the load. It delays the
     * shutdown, so it must be short.
     */
    public void beforeEnd(Runnable action) {
        beforeEnd = action;
    }

    void endWithJvm() {
        try {
            beforeEnd.run();
        } finally {
            close();
        }
    }

    boolean isClosed() {
        return isClosed.get();
    }

    /** Ends the nodes started here and removes their folder; given nodes are left alone. A second call does nothing. */
    @Override
    public void close() {
        if (!isClosed.compareAndSet(false, true)) {
            return;
        }
        nodes.forEach(RedisNode::end);
        if (guard != null) {
            guard.close();
        }
        removeFolder();
        LiveNodes.remove(this);
    }

    private void removeFolder() {
        try {
            if (folder != null) {
                TemporaryFolders.delete(folder);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot remove the nodes' folder " + folder, e);
        }
    }

    /** Shows the choice and the addresses, without credentials. */
    @Override
    public String toString() {
        return choice + " " + nodes;
    }

    /**
     * The running groups of nodes. One shutdown hook ends them all, so that Ctrl-C or a failing test leaves no server
     * behind.
     *
     * @threading any thread
     */
    private static final class LiveNodes {
        private static final Set<RedisNodes> LIVE = new LinkedHashSet<>();
        private static boolean isEnding;

        static {
            Runtime.getRuntime().addShutdownHook(new Thread(LiveNodes::endAll, "redis-nodes-end"));
        }

        /** Fails while the JVM ends, because the hook would miss a new group. */
        static synchronized void add(RedisNodes nodes) {
            if (isEnding) {
                throw new IllegalStateException("no nodes are started: the JVM is ending");
            }
            LIVE.add(nodes);
        }

        static synchronized void remove(RedisNodes nodes) {
            LIVE.remove(nodes);
        }

        private static void endAll() {
            ending().forEach(RedisNodes::endWithJvm);
        }

        private static synchronized List<RedisNodes> ending() {
            isEnding = true;
            return List.copyOf(LIVE);
        }
    }
}
