package dev.redlock.loadtest.driver;

import dev.redlock.cli.ClientTls;
import dev.redlock.transport.NodeAddress;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SslOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.internal.ExceptionFactory;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandKeyword;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;
import io.lettuce.core.resource.DefaultEventLoopGroupProvider;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.handler.ssl.OpenSsl;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * A hand-written quorum lock over Lettuce: one connection for each node, requests to all nodes at once, decided at the
 * majority, rolled back on failure. Lettuce itself has no lock.
 *
 * @threading any thread
 */
public final class LettuceDriver implements LockDriver {
    private final boolean isBatched;
    private final boolean isAcquiredByScript;

    /**
     * A driver in one of two ways to send. It acquires by plain {@code SET}.
     *
     * @param isBatched false for the library's asynchronous commands as its guide shows them, with its command
     *                  timeouts; true for the fastest use: one event loop for all connections, one write for each node
     *                  and turn of the loop, no future for each command, and one timer for all
     */
    public LettuceDriver(boolean isBatched) {
        this(isBatched, false);
    }

    private LettuceDriver(boolean isBatched, boolean isAcquiredByScript) {
        this.isBatched = isBatched;
        this.isAcquiredByScript = isAcquiredByScript;
    }

    /**
     * Tuned, and acquiring by the script of {@code redlock-core}: command for command what {@code redlock-scripts-each}
     * asks of the nodes.
     *
     * @return the driver {@code lettuce-scripts}
     */
    public static LettuceDriver withScripts() {
        return new LettuceDriver(true, true);
    }

    @Override
    public String name() {
        if (isAcquiredByScript) {
            return "lettuce-scripts";
        }
        return isBatched ? "lettuce-batched" : "lettuce";
    }

    @Override
    public String version() {
        return LibraryVersion.of("Lettuce", "io.lettuce", "lettuce-core");
    }

    @Override
    public String summary() {
        return "a parallel quorum lock written by hand over Lettuce, "
                + (isBatched ? "tuned: manual flush, one event loop" : "its asynchronous commands as they come")
                + (isAcquiredByScript ? "; acquires by script" : "");
    }

    @Override
    public Set<DriverOption> options() {
        return Set.of(DriverOption.TLS);
    }

    @Override
    public LockSession open(SessionSpec spec) throws IOException, InterruptedException {
        return LettuceSession.open(spec, isBatched ? new LettuceBatches() : new LettuceFutures(), isAcquiredByScript);
    }

    /**
     * The fastest use of Lettuce. One event loop serves all connections, so commands that its replies trigger are sent
     * in the same turn: they collect, and a task at the end of the turn flushes each connection once. Commands have no
     * future and no timer of their own; one task looks for overdue rounds.
     *
     * @threading any thread; rounds are sent, answered and timed out on the event loop
     */
    private static final class LettuceBatches implements LettuceWire {
        private static final long SWEEP_MS = 100;

        private final OneLoop provider = new OneLoop();
        private final ClientResources resources = DefaultClientResources.builder()
                .eventLoopGroupProvider(provider)
                .build();
        private final List<StatefulRedisConnection<byte[], byte[]>> connections = new CopyOnWriteArrayList<>();
        /** In the order of their start; all have the same timeout, so the overdue ones are at the front. */
        private final ArrayDeque<LettuceRound> underWay = new ArrayDeque<>();
        private final Runnable flush = this::flush;
        private boolean isFlushDue;
        private boolean isSweeping;

        @Override
        public ClientResources resources() {
            return resources;
        }

        @Override
        public ClientOptions.Builder options() {
            return ClientOptions.builder().timeoutOptions(TimeoutOptions.builder().timeoutCommands(false).build());
        }

        @Override
        public void onConnected(StatefulRedisConnection<byte[], byte[]> connection) {
            connection.setAutoFlushCommands(false);
            connections.add(connection);
        }

        @Override
        public void execute(LettuceRound round) {
            EventLoop loop = provider.loop();
            if (loop.inEventLoop()) {
                sendOnLoop(round);
            } else {
                loop.execute(() -> sendOnLoop(round));
            }
        }

        private void sendOnLoop(LettuceRound round) {
            underWay.addLast(round);
            round.handle().send(round);
            if (!isSweeping) {
                isSweeping = true;
                provider.loop().schedule(this::sweep, SWEEP_MS, TimeUnit.MILLISECONDS);
            }
        }

        @Override
        public void send(StatefulRedisConnection<byte[], byte[]> connection, CommandType type,
                CommandArgs<byte[], byte[]> args, LettuceRound round, int node) {
            connection.dispatch(new Vote(type, args, round, node));
            if (!isFlushDue) {
                isFlushDue = true;
                provider.loop().execute(flush);
            }
        }

        private void flush() {
            isFlushDue = false;
            for (StatefulRedisConnection<byte[], byte[]> connection : connections) {
                connection.flushCommands();
            }
        }

        private void sweep() {
            long overdueNs = System.nanoTime() - LettuceSession.NODE_TIMEOUT.toNanos();
            for (LettuceRound round = underWay.peekFirst(); round != null; round = underWay.peekFirst()) {
                if (!round.isDecided() && round.startNs() - overdueNs > 0) {
                    break;
                }
                underWay.removeFirst();
                round.onTimeout(round.handle().nodeCount());
            }
            isSweeping = !underWay.isEmpty();
            if (isSweeping) {
                provider.loop().schedule(this::sweep, SWEEP_MS, TimeUnit.MILLISECONDS);
            }
        }

        @Override
        public void close() {
            LettuceSession.shutDown(resources);
            provider.shutdown(0, 2, TimeUnit.SECONDS).syncUninterruptibly();
        }

        /**
         * Lettuce's provider with one event loop that is accessible.
         *
         * @threading any thread
         */
        private static final class OneLoop extends DefaultEventLoopGroupProvider {
            private volatile EventLoop loop;

            OneLoop() {
                super(1);
            }

            @Override
            public <T extends EventLoopGroup> T allocate(Class<T> type) {
                T group = super.allocate(type);
                loop = group.next();
                return group;
            }

            EventLoop loop() {
                return loop;
            }
        }

        /**
         * A command that notifies its round directly, without a future.
         *
         * @threading event-loop-confined
         */
        private static final class Vote extends Command<byte[], byte[], Long> {
            private final LettuceRound round;
            private final int node;

            Vote(CommandType type, CommandArgs<byte[], byte[]> args, LettuceRound round, int node) {
                super(type, new LettuceVote(), args);
                this.round = round;
                this.node = node;
            }

            @Override
            public void complete() {
                super.complete();
                if (getOutput().hasError()) {
                    round.handle()
                            .onAnswer(round, node, null,
                                    ExceptionFactory.createExecutionException(getOutput().getError()));
                } else {
                    round.handle().onAnswer(round, node, getOutput().get(), null);
                }
            }

            @Override
            public boolean completeExceptionally(Throwable failure) {
                boolean isFirst = super.completeExceptionally(failure);
                round.handle().onAnswer(round, node, null, failure);
                return isFirst;
            }

            @Override
            public void cancel() {
                super.cancel();
                round.onFailure(node);
            }
        }
    }

    /**
     * Sends commands in the way of the library's guide: with a future for each, a write for each, and the library's
     * timeouts.
     *
     * @threading any thread
     */
    private static final class LettuceFutures implements LettuceWire {
        private final ClientResources resources = DefaultClientResources.create();

        @Override
        public ClientResources resources() {
            return resources;
        }

        @Override
        public ClientOptions.Builder options() {
            return ClientOptions.builder().timeoutOptions(TimeoutOptions.enabled(LettuceSession.NODE_TIMEOUT));
        }

        @Override
        public void onConnected(StatefulRedisConnection<byte[], byte[]> connection) {
            // Commands are flushed one by one, which is the default.
        }

        @Override
        public void execute(LettuceRound round) {
            round.handle().send(round);
        }

        @Override
        public void send(StatefulRedisConnection<byte[], byte[]> connection, CommandType type,
                CommandArgs<byte[], byte[]> args, LettuceRound round, int node) {
            AsyncCommand<byte[], byte[], Long> command = new AsyncCommand<>(
                    new Command<>(type, new LettuceVote(), args));
            connection.dispatch(command);
            command.whenComplete((reply, failure) -> round.handle().onAnswer(round, node, reply, failure));
        }

        @Override
        public void close() {
            LettuceSession.shutDown(resources);
        }
    }

    /**
     * Maps a node's reply to a vote: 1 is a grant. A granted SET replies OK and a rejected one null; a script replies a
     * number.
     *
     * @threading event-loop-confined
     */
    private static final class LettuceVote extends CommandOutput<byte[], byte[], Long> {
        LettuceVote() {
            super(ByteArrayCodec.INSTANCE, 0L);
        }

        @Override
        public void set(long integer) {
            output = integer;
        }

        @Override
        public void set(ByteBuffer text) {
            output = text == null ? 0L : 1L;
        }
    }

    /**
     * Sends commands on Lettuce's connections.
     *
     * @threading any thread
     */
    private interface LettuceWire extends AutoCloseable {
        ClientResources resources();

        ClientOptions.Builder options();

        /** A connection is ready, its scripts are loaded. */
        void onConnected(StatefulRedisConnection<byte[], byte[]> connection);

        /** Runs the sending of a round on the thread that sends. */
        void execute(LettuceRound round);

        /** Sends one command; the round gets its reply. */
        void send(StatefulRedisConnection<byte[], byte[]> connection, CommandType type,
                CommandArgs<byte[], byte[]> args,
                LettuceRound round, int node);

        @Override
        void close();
    }

    /**
     * One command to all nodes and their replies.
     *
     * @threading any thread; the votes are counted under its monitor
     */
    private static final class LettuceRound {
        private final LettuceHandle handle;
        private final PeerVerb verb;
        private final byte[] token;
        private final long startNs;
        private final VoteCount votes;
        private final boolean isRollback;
        private long answered;
        private boolean isDecided;
        private boolean isSent;

        LettuceRound(LettuceHandle handle, PeerVerb verb, byte[] token, int nodeCount, boolean isRollback) {
            this.handle = handle;
            this.verb = verb;
            this.token = token;
            this.startNs = System.nanoTime();
            this.votes = new VoteCount(nodeCount);
            this.isRollback = isRollback;
        }

        PeerVerb verb() {
            return verb;
        }

        LettuceHandle handle() {
            return handle;
        }

        byte[] token() {
            return token;
        }

        long startNs() {
            return startNs;
        }

        void onReply(int node, long reply) {
            onVote(node, true, reply);
        }

        void onFailure(int node) {
            onVote(node, false, 0);
        }

        private void onVote(int node, boolean isAnswer, long reply) {
            if (count(node, isAnswer, reply)) {
                handle.onDecided(this, votes);
            }
        }

        /** Counts a node's first reply; true for the deciding vote. */
        private synchronized boolean count(int node, boolean isAnswer, long reply) {
            if (isDecided || (answered & 1L << node) != 0) {
                return false;
            }
            answered |= 1L << node;
            if (isAnswer) {
                votes.onReply(reply);
            } else {
                votes.onFailure();
            }
            isDecided = verb == PeerVerb.ACQUIRE ? votes.isDecided() : votes.isReleaseDecided();
            return isDecided && isSent && !isRollback;
        }

        /**
         * The command has been sent to every node. The outcome is reported only from here on, even if enough nodes have
         * replied before: the release that follows must not overtake the command on its way to the last nodes.
         */
        void onSent() {
            if (markSent()) {
                handle.onDecided(this, votes);
            }
        }

        private synchronized boolean markSent() {
            isSent = true;
            return isDecided && !isRollback;
        }

        synchronized boolean isDecided() {
            return isDecided;
        }

        /** The timeout has passed: a node without a reply counts as failed. */
        void onTimeout(int nodeCount) {
            for (int node = 0; node < nodeCount && !isDecided(); node++) {
                onFailure(node);
            }
        }
    }

    /**
     * One lock over all nodes.
     *
     * @threading caller-confined between a call and its outcome
     */
    private static final class LettuceHandle implements LockHandle {
        private final LettuceSession session;
        private final byte[] resource;
        private final Duration ttl;
        private final LockListener listener;
        private byte[] token = {};

        LettuceHandle(LettuceSession session, String resource, Duration ttl, LockListener listener) {
            this.session = session;
            this.resource = resource.getBytes(StandardCharsets.UTF_8);
            this.ttl = ttl;
            this.listener = listener;
        }

        @Override
        public void acquire() {
            token = session.freshToken();
            session.begin(new LettuceRound(this, PeerVerb.ACQUIRE, token, session.nodeCount(), false));
        }

        @Override
        public void release() {
            session.begin(new LettuceRound(this, PeerVerb.RELEASE, token, session.nodeCount(), false));
        }

        int nodeCount() {
            return session.nodeCount();
        }

        /** Sends a round to all nodes; a failed send is a failed vote. */
        void send(LettuceRound round) {
            if (round.verb() == PeerVerb.RELEASE) {
                session.send(round, CommandType.EVALSHA, releaseArguments(round, PeerScript.RELEASE.sha()));
            } else if (session.isAcquiredByScript()) {
                session.send(round, CommandType.EVALSHA, acquireArguments(round, PeerScript.ACQUIRE.sha()));
            } else {
                session.send(round, CommandType.SET, setArguments(round));
            }
            round.onSent();
        }

        void onAnswer(LettuceRound round, int node, Long reply, Throwable failure) {
            if (failure == null) {
                round.onReply(node, reply);
            } else if (failure instanceof RedisNoScriptException) {
                session.send(round, node, CommandType.EVAL, round.verb() == PeerVerb.RELEASE
                        ? releaseArguments(round, PeerScript.RELEASE.source())
                        : acquireArguments(round, PeerScript.ACQUIRE.source()));
            } else {
                round.onFailure(node);
            }
        }

        /** {@code SET resource token NX PX ttl}. */
        private CommandArgs<byte[], byte[]> setArguments(LettuceRound round) {
            return new CommandArgs<>(ByteArrayCodec.INSTANCE).addKey(resource)
                    .addValue(round.token())
                    .add(CommandKeyword.NX)
                    .add(CommandKeyword.PX)
                    .add(ttl.toMillis());
        }

        /** {@code EVALSHA sha 1 resource token ttl}, or {@code EVAL} with the source. */
        private CommandArgs<byte[], byte[]> acquireArguments(LettuceRound round, String script) {
            return releaseArguments(round, script).add(ttl.toMillis());
        }

        /** {@code EVALSHA sha 1 resource token}, or {@code EVAL} with the source. */
        private CommandArgs<byte[], byte[]> releaseArguments(LettuceRound round, String script) {
            return new CommandArgs<>(ByteArrayCodec.INSTANCE).add(script)
                    .add(1)
                    .addKey(resource)
                    .addValue(round.token());
        }

        void onDecided(LettuceRound round, VoteCount votes) {
            if (round.verb() == PeerVerb.RELEASE) {
                listener.onRelease(votes.released());
                return;
            }
            long validityNs = VoteCount.validityNs(ttl, System.nanoTime() - round.startNs());
            if (votes.isWon() && validityNs > 0) {
                listener.onAcquire(AcquireVerdict.ACQUIRED, validityNs);
                return;
            }
            session.begin(new LettuceRound(this, PeerVerb.RELEASE, round.token(), session.nodeCount(), true));
            listener.onAcquire(votes.isWon() ? AcquireVerdict.TOO_SLOW : votes.lost(), 0);
        }
    }

    /**
     * One connection for each node. The session retries a node that is down at the start every second. Lettuce
     * reconnects later, and must not send a command twice: a replay would acquire a lock that nobody waits for.
     *
     * @threading any thread
     */
    private static final class LettuceSession implements LockSession {
        static final Duration NODE_TIMEOUT = Duration.ofSeconds(2);
        private static final Duration OPEN_LIMIT = Duration.ofSeconds(10);
        /** A strong reference: a logger without one loses its level. */
        private static final Logger TRANSPORT_LOG = Logger.getLogger("io.lettuce.core.resource.Transports");

        static {
            // Otherwise it warns many times for each client that this machine has two good transports.
            TRANSPORT_LOG.setLevel(Level.SEVERE);
        }

        private final LettuceWire wire;
        private final boolean isAcquiredByScript;
        private final RedisClient client;
        private final List<RedisURI> addresses;
        private final PeerTokens tokens = new PeerTokens();
        private final AtomicReferenceArray<StatefulRedisConnection<byte[], byte[]>> connections;
        private volatile boolean isClosed;

        private LettuceSession(SessionSpec spec, LettuceWire wire, boolean isAcquiredByScript) {
            List<NodeAddress> nodes = spec.preferredNodes();
            this.wire = wire;
            this.isAcquiredByScript = isAcquiredByScript;
            this.addresses = nodes.stream().map(LettuceSession::uri).toList();
            this.connections = new AtomicReferenceArray<>(nodes.size());
            this.client = RedisClient.create(wire.resources());
            ClientOptions.Builder options = wire.options()
                    .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                    .replayFilter(command -> true);
            if (spec.tls() != null) {
                options.sslOptions(ssl(spec.tls().files().read()));
            }
            client.setOptions(options.build());
        }

        /** The same implementation as that of this project's client. */
        private static SslOptions ssl(ClientTls.Managers files) {
            SslOptions.Builder ssl = OpenSsl.isAvailable()
                    ? SslOptions.builder().openSslProvider()
                    : SslOptions.builder().jdkSslProvider();
            if (files.trust() != null) {
                ssl.trustManager(files.trust());
            }
            if (files.identity() != null) {
                ssl.keyManager(files.identity());
            }
            return ssl.build();
        }

        static LettuceSession open(SessionSpec spec, LettuceWire wire, boolean isAcquiredByScript)
                throws IOException, InterruptedException {
            LettuceSession session = new LettuceSession(spec, wire, isAcquiredByScript);
            try {
                session.connectAll();
                return session;
            } catch (IOException | InterruptedException e) {
                session.close();
                throw e;
            }
        }

        private static RedisURI uri(NodeAddress address) {
            RedisURI.Builder uri = RedisURI.builder()
                    .withHost(address.host())
                    .withPort(address.port())
                    .withSsl(address.isTls())
                    .withTimeout(NODE_TIMEOUT);
            if (address.user() != null) {
                uri.withAuthentication(address.user(), address.password().toCharArray());
            } else if (address.password() != null) {
                uri.withPassword(address.password().toCharArray());
            }
            return uri.build();
        }

        private void connectAll() throws IOException, InterruptedException {
            List<Future<?>> pending = new ArrayList<>();
            for (int node = 0; node < addresses.size(); node++) {
                pending.add(connect(node));
            }
            long deadlineNs = System.nanoTime() + OPEN_LIMIT.toNanos();
            String problem = null;
            for (Future<?> one : pending) {
                try {
                    one.get(deadlineNs - System.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (ExecutionException | TimeoutException e) {
                    problem = String.valueOf(e.getCause() == null ? e : e.getCause().getMessage());
                }
            }
            if (readyCount() < addresses.size() / 2 + 1) {
                throw new IOException(
                        "only " + readyCount() + " of " + addresses.size() + " nodes are ready: " + problem);
            }
        }

        private int readyCount() {
            int ready = 0;
            for (int node = 0; node < connections.length(); node++) {
                ready += connections.get(node) == null ? 0 : 1;
            }
            return ready;
        }

        private Future<?> connect(int node) {
            return client.connectAsync(ByteArrayCodec.INSTANCE, addresses.get(node))
                    .toCompletableFuture()
                    .thenCompose(connection -> connection.async()
                            .scriptLoad(PeerScript.ACQUIRE.source())
                            .thenCompose(sha -> connection.async().scriptLoad(PeerScript.RELEASE.source()))
                            .thenAccept(sha -> onConnected(node, connection))
                            .toCompletableFuture())
                    .whenComplete((nothing, failure) -> {
                        if (failure != null && !isClosed) {
                            wire.resources().eventExecutorGroup().schedule(() -> connect(node), 1, TimeUnit.SECONDS);
                        }
                    });
        }

        private void onConnected(int node, StatefulRedisConnection<byte[], byte[]> connection) {
            if (isClosed) {
                throw new CompletionException(new IOException("the session was closed"));
            }
            wire.onConnected(connection);
            connections.set(node, connection);
        }

        byte[] freshToken() {
            return tokens.next();
        }

        boolean isAcquiredByScript() {
            return isAcquiredByScript;
        }

        int nodeCount() {
            return addresses.size();
        }

        void begin(LettuceRound round) {
            wire.execute(round);
        }

        void send(LettuceRound round, CommandType type, CommandArgs<byte[], byte[]> args) {
            for (int node = 0; node < connections.length(); node++) {
                send(round, node, type, args);
            }
        }

        void send(LettuceRound round, int node, CommandType type, CommandArgs<byte[], byte[]> args) {
            StatefulRedisConnection<byte[], byte[]> connection = connections.get(node);
            if (connection == null) {
                round.onFailure(node);
            } else {
                wire.send(connection, type, args, round, node);
            }
        }

        @Override
        public LockHandle handle(String resource, Duration ttl, LockListener listener) {
            return new LettuceHandle(this, resource, ttl, listener);
        }

        static void shutDown(ClientResources resources) {
            resources.shutdown(0, 2, TimeUnit.SECONDS).syncUninterruptibly();
        }

        @Override
        public void close() {
            isClosed = true;
            client.shutdown(0, 2, TimeUnit.SECONDS);
            wire.close();
        }
    }
}
