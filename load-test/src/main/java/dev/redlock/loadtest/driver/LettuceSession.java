package dev.redlock.loadtest.driver;

import dev.redlock.cli.ClientTls;
import dev.redlock.transport.NodeAddress;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SslOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.resource.ClientResources;
import io.netty.handler.ssl.OpenSsl;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * One connection for each node. The session retries a node that is down at the start every second. Lettuce reconnects
 * later, and must not send a command twice: a replay would acquire a lock that nobody waits for.
 *
 * @threading any thread
 */
final class LettuceSession implements LockSession {
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
            throw new IOException("only " + readyCount() + " of " + addresses.size() + " nodes are ready: " + problem);
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
