package dev.redlock.loadtest.driver;

import dev.redlock.api.AcquireOutcome;
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
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * A hand-written quorum lock over Lettuce, which itself has no lock: one connection for each node, requests to all
 * nodes at once, decided at the majority, rolled back on failure. The session retries a node that is down at the start
 * every second. Lettuce reconnects later, and must not send a command twice: a replay would acquire a lock that nobody
 * waits for.
 *
 * @threading any thread
 */
abstract class LettuceSession implements LockSession {
    private static final Duration NODE_TIMEOUT = Duration.ofSeconds(2);
    private static final Duration OPEN_LIMIT = Duration.ofSeconds(10);
    /** A strong reference: a logger without one loses its level. */
    private static final Logger TRANSPORT_LOG = Logger.getLogger("io.lettuce.core.resource.Transports");

    static {
        // Otherwise it warns many times for each client that this machine has two good transports.
        TRANSPORT_LOG.setLevel(Level.SEVERE);
    }

    private final ClientResources resources;
    private final boolean isAcquiredByScript;
    private final RedisClient client;
    private final List<RedisURI> addresses;
    private final PeerTokens tokens = new PeerTokens();
    private final AtomicReferenceArray<StatefulRedisConnection<byte[], byte[]>> connections;
    private volatile boolean isClosed;

    /** @param isAcquiredByScript whether it acquires by the script of {@code redlock-core} instead of {@code SET} */
    private LettuceSession(SessionSpec spec, ClientResources resources, TimeoutOptions timeouts,
            boolean isAcquiredByScript) {
        this.resources = resources;
        this.isAcquiredByScript = isAcquiredByScript;
        this.addresses = spec.preferredNodes().stream().map(LettuceSession::uri).toList();
        this.connections = new AtomicReferenceArray<>(addresses.size());
        this.client = RedisClient.create(resources);
        ClientOptions.Builder options = ClientOptions.builder()
                .timeoutOptions(timeouts)
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .replayFilter(command -> true);
        if (spec.tls() != null) {
            options.sslOptions(ssl(spec.tls().files().read()));
        }
        client.setOptions(options.build());
    }

    /** Sends commands in the way of the library's guide. */
    static LockSession futures(SessionSpec spec) throws IOException, InterruptedException {
        return new Futures(spec).connected();
    }

    static LockSession batches(SessionSpec spec, boolean isAcquiredByScript) throws IOException, InterruptedException {
        return new Batches(spec, new OneLoop(), isAcquiredByScript).connected();
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

    final LockSession connected() throws IOException, InterruptedException {
        List<Future<?>> pending = new ArrayList<>();
        for (int node = 0; node < addresses.size(); node++) {
            pending.add(connect(node));
        }
        long deadlineNs = System.nanoTime() + OPEN_LIMIT.toNanos();
        return Majority.of(this, pending, one -> one.get(deadlineNs - System.nanoTime(), TimeUnit.NANOSECONDS));
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
                        resources.eventExecutorGroup().schedule(() -> connect(node), 1, TimeUnit.SECONDS);
                    }
                });
    }

    private void onConnected(int node, StatefulRedisConnection<byte[], byte[]> connection) {
        if (isClosed) {
            throw new CompletionException(new IOException("the session was closed"));
        }
        prepare(connection);
        connections.set(node, connection);
    }

    @Override
    public LockHandle handle(LockSpec spec, LockListener listener) {
        return new Handle(spec, listener);
    }

    @Override
    public void close() {
        isClosed = true;
        client.shutdown(0, 2, TimeUnit.SECONDS);
        resources.shutdown(0, 2, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** A connection is ready, its scripts are loaded. */
    abstract void prepare(StatefulRedisConnection<byte[], byte[]> connection);

    /** Calls {@link Round#send} on the thread that sends. */
    abstract void execute(Round round);

    /** Sends one command, whose reply goes to {@link Round#onReply}. */
    abstract void send(StatefulRedisConnection<byte[], byte[]> connection, CommandType type,
            CommandArgs<byte[], byte[]> args, Round round, int node);

    /**
     * With a future for each command, a write for each, and the library's timeouts.
     *
     * @threading any thread
     */
    private static final class Futures extends LettuceSession {
        Futures(SessionSpec spec) {
            super(spec, DefaultClientResources.create(), TimeoutOptions.enabled(NODE_TIMEOUT), false);
        }

        @Override
        void prepare(StatefulRedisConnection<byte[], byte[]> connection) {
            // Commands are flushed one by one, which is the default.
        }

        @Override
        void execute(Round round) {
            round.send();
        }

        @Override
        void send(StatefulRedisConnection<byte[], byte[]> connection, CommandType type,
                CommandArgs<byte[], byte[]> args, Round round, int node) {
            AsyncCommand<byte[], byte[], Long> command = new AsyncCommand<>(new Command<>(type, new Vote(), args));
            connection.dispatch(command);
            command.whenComplete((reply, failure) -> round.onReply(node, reply, failure));
        }
    }

    /**
     * One event loop serves all connections, so commands that its replies trigger are sent in the same turn: they
     * collect, and a task at the end of the turn flushes each connection once. Commands have no future and no timer of
     * their own; one task looks for overdue rounds.
     *
     * @threading any thread; rounds are sent, answered and timed out on the event loop
     */
    private static final class Batches extends LettuceSession {
        private static final long SWEEP_MS = 100;

        private final OneLoop provider;
        private final List<StatefulRedisConnection<byte[], byte[]>> connections = new CopyOnWriteArrayList<>();
        /** In the order of their start; all have the same timeout, so the overdue ones are at the front. */
        private final ArrayDeque<Round> underWay = new ArrayDeque<>();
        private final Runnable flush = this::flush;
        private boolean isFlushDue;
        private boolean isSweeping;

        Batches(SessionSpec spec, OneLoop provider, boolean isAcquiredByScript) {
            super(spec, DefaultClientResources.builder().eventLoopGroupProvider(provider).build(),
                    TimeoutOptions.builder().timeoutCommands(false).build(), isAcquiredByScript);
            this.provider = provider;
        }

        @Override
        void prepare(StatefulRedisConnection<byte[], byte[]> connection) {
            connection.setAutoFlushCommands(false);
            connections.add(connection);
        }

        @Override
        void execute(Round round) {
            if (provider.loop.inEventLoop()) {
                sendOnLoop(round);
            } else {
                provider.loop.execute(() -> sendOnLoop(round));
            }
        }

        private void sendOnLoop(Round round) {
            underWay.addLast(round);
            round.send();
            if (!isSweeping) {
                isSweeping = true;
                provider.loop.schedule(this::sweep, SWEEP_MS, TimeUnit.MILLISECONDS);
            }
        }

        @Override
        void send(StatefulRedisConnection<byte[], byte[]> connection, CommandType type,
                CommandArgs<byte[], byte[]> args, Round round, int node) {
            connection.dispatch(new DirectVote(type, args, round, node));
            if (!isFlushDue) {
                isFlushDue = true;
                provider.loop.execute(flush);
            }
        }

        private void flush() {
            isFlushDue = false;
            for (StatefulRedisConnection<byte[], byte[]> connection : connections) {
                connection.flushCommands();
            }
        }

        private void sweep() {
            long overdueNs = System.nanoTime() - NODE_TIMEOUT.toNanos();
            for (Round round = underWay.peekFirst(); round != null; round = underWay.peekFirst()) {
                if (!round.isDecided() && round.startNs - overdueNs > 0) {
                    break;
                }
                underWay.removeFirst();
                round.onTimeout();
            }
            isSweeping = !underWay.isEmpty();
            if (isSweeping) {
                provider.loop.schedule(this::sweep, SWEEP_MS, TimeUnit.MILLISECONDS);
            }
        }

        @Override
        public void close() {
            super.close();
            provider.shutdown(0, 2, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    /** @threading any thread */
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
    }

    /**
     * Maps a node's reply to a vote: 1 is a grant. A granted SET replies OK and a rejected one null; a script replies a
     * number.
     *
     * @threading event-loop-confined
     */
    private static final class Vote extends CommandOutput<byte[], byte[], Long> {
        Vote() {
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

    /** @threading event-loop-confined */
    private static final class DirectVote extends Command<byte[], byte[], Long> {
        private final Round round;
        private final int node;

        DirectVote(CommandType type, CommandArgs<byte[], byte[]> args, Round round, int node) {
            super(type, new Vote(), args);
            this.round = round;
            this.node = node;
        }

        @Override
        public void complete() {
            super.complete();
            round.onReply(node, getOutput().get(), getOutput().hasError()
                    ? ExceptionFactory.createExecutionException(getOutput().getError())
                    : null);
        }

        @Override
        public boolean completeExceptionally(Throwable failure) {
            boolean isFirst = super.completeExceptionally(failure);
            round.onReply(node, null, failure);
            return isFirst;
        }

        @Override
        public void cancel() {
            super.cancel();
            round.onFailure(node);
        }
    }

    /** @threading caller-confined between a call and its outcome */
    private final class Handle implements LockHandle {
        private final byte[] resource;
        private final Duration ttl;
        private final LockListener listener;
        private byte[] token = {};

        Handle(LockSpec spec, LockListener listener) {
            this.resource = spec.resource().getBytes(StandardCharsets.UTF_8);
            this.ttl = spec.ttl();
            this.listener = listener;
        }

        @Override
        public void acquire() {
            token = tokens.next();
            execute(new Round(this, PeerScript.ACQUIRE, token, false));
        }

        @Override
        public void release() {
            execute(new Round(this, PeerScript.RELEASE, token, false));
        }
    }

    /**
     * One command to all nodes and their replies.
     *
     * @threading any thread; the votes are counted under its monitor
     */
    final class Round {
        private final Handle handle;
        private final PeerScript script;
        private final byte[] token;
        private final boolean isRollback;
        private final long startNs = System.nanoTime();
        private final VoteCount votes = new VoteCount(addresses.size());
        private long answered;
        private boolean isDecided;
        private boolean isSent;

        private Round(Handle handle, PeerScript script, byte[] token, boolean isRollback) {
            this.handle = handle;
            this.script = script;
            this.token = token;
            this.isRollback = isRollback;
        }

        /**
         * Sends the command to all nodes; a failed send is a failed vote. The outcome is reported only after that, even
         * if enough nodes have replied before: the release that follows must not overtake the command on its way to the
         * last nodes.
         */
        void send() {
            boolean isSet = script == PeerScript.ACQUIRE && !isAcquiredByScript;
            CommandArgs<byte[], byte[]> args = isSet ? setArguments() : scriptArguments(script.sha());
            for (int node = 0; node < connections.length(); node++) {
                sendTo(node, isSet ? CommandType.SET : CommandType.EVALSHA, args);
            }
            if (markSent()) {
                onDecided();
            }
        }

        private void sendTo(int node, CommandType type, CommandArgs<byte[], byte[]> args) {
            StatefulRedisConnection<byte[], byte[]> connection = connections.get(node);
            if (connection == null) {
                onFailure(node);
            } else {
                LettuceSession.this.send(connection, type, args, this, node);
            }
        }

        /** {@code SET resource token NX PX ttl}. */
        private CommandArgs<byte[], byte[]> setArguments() {
            return new CommandArgs<>(ByteArrayCodec.INSTANCE).addKey(handle.resource)
                    .addValue(token)
                    .add(CommandKeyword.NX)
                    .add(CommandKeyword.PX)
                    .add(handle.ttl.toMillis());
        }

        /** {@code EVALSHA sha 1 resource token [ttl]}, or {@code EVAL} with the source. */
        private CommandArgs<byte[], byte[]> scriptArguments(String shaOrSource) {
            CommandArgs<byte[], byte[]> args = new CommandArgs<>(ByteArrayCodec.INSTANCE).add(shaOrSource)
                    .add(1)
                    .addKey(handle.resource)
                    .addValue(token);
            return script == PeerScript.ACQUIRE ? args.add(handle.ttl.toMillis()) : args;
        }

        void onReply(int node, Long reply, Throwable failure) {
            if (failure == null) {
                onVote(node, true, reply);
            } else if (failure instanceof RedisNoScriptException) {
                sendTo(node, CommandType.EVAL, scriptArguments(script.source()));
            } else {
                onFailure(node);
            }
        }

        private void onFailure(int node) {
            onVote(node, false, 0);
        }

        private void onVote(int node, boolean isReply, long reply) {
            if (count(node, isReply, reply)) {
                onDecided();
            }
        }

        /** Counts a node's first reply; true for the deciding vote. */
        private synchronized boolean count(int node, boolean isReply, long reply) {
            if (isDecided || (answered & 1L << node) != 0) {
                return false;
            }
            answered |= 1L << node;
            if (isReply) {
                votes.onReply(reply);
            } else {
                votes.onFailure();
            }
            isDecided = script == PeerScript.ACQUIRE ? votes.isDecided() : votes.isReleaseDecided();
            return isDecided && isSent && !isRollback;
        }

        private synchronized boolean markSent() {
            isSent = true;
            return isDecided && !isRollback;
        }

        private synchronized boolean isDecided() {
            return isDecided;
        }

        /** The timeout has passed: a node without a reply counts as failed. */
        private void onTimeout() {
            for (int node = 0; node < addresses.size() && !isDecided(); node++) {
                onFailure(node);
            }
        }

        private void onDecided() {
            if (script == PeerScript.RELEASE) {
                handle.listener.onRelease(votes.released());
                return;
            }
            long validityNs = VoteCount.validityNs(handle.ttl, System.nanoTime() - startNs);
            if (votes.isWon() && validityNs > 0) {
                handle.listener.onAcquire(AcquireOutcome.Kind.ACQUIRED, validityNs);
                return;
            }
            execute(new Round(handle, PeerScript.RELEASE, token, true));
            handle.listener.onAcquire(votes.isWon() ? AcquireOutcome.Kind.TOO_SLOW : votes.lost(), 0);
        }
    }
}
