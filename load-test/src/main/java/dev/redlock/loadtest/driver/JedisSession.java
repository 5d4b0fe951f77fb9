package dev.redlock.loadtest.driver;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.transport.NodeAddress;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocketFactory;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.exceptions.JedisNoScriptException;
import redis.clients.jedis.params.SetParams;

/**
 * A hand-written quorum lock over Jedis, which itself has no lock: a pool of connections for each node, a thread for
 * each cycle in flight, one node after the other.
 *
 * @threading any thread
 */
final class JedisSession implements LockSession {
    private static final int NODE_TIMEOUT_MS = 2_000;
    private static final int POOL_SIZE = 256;
    private static final byte[] SHA = PeerScript.RELEASE.sha().getBytes(StandardCharsets.US_ASCII);
    private static final byte[] SOURCE = PeerScript.RELEASE.source().getBytes(StandardCharsets.UTF_8);

    private final List<RedisClient> nodes;
    private final CallerThreads threads = new CallerThreads("jedis");
    private final PeerTokens tokens = new PeerTokens();

    private JedisSession(List<RedisClient> nodes) {
        this.nodes = nodes;
    }

    static LockSession open(SessionSpec spec) throws IOException, InterruptedException {
        SSLSocketFactory tls = spec.tls() == null ? null : spec.tls().files().read().context().getSocketFactory();
        List<RedisClient> nodes = spec.preferredNodes().stream().map(address -> client(address, tls)).toList();
        return Majority.of(new JedisSession(nodes), nodes, node -> node.scriptLoad(PeerScript.RELEASE.source()));
    }

    private static RedisClient client(NodeAddress address, SSLSocketFactory tls) {
        ConnectionPoolConfig pool = new ConnectionPoolConfig();
        pool.setMaxTotal(POOL_SIZE);
        pool.setMaxIdle(POOL_SIZE);
        pool.setMaxWait(Duration.ofMillis(NODE_TIMEOUT_MS));
        DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder().timeoutMillis(NODE_TIMEOUT_MS);
        config.user(address.user()).password(address.password());
        if (address.isTls()) {
            encrypt(config, tls);
        }
        return RedisClient.builder()
                .hostAndPort(address.host(), address.port())
                .clientConfig(config.build())
                .poolConfig(pool)
                .build();
    }

    /** Its newer {@code SslOptions} read key stores only, and the files are PEM. */
    @SuppressWarnings("deprecation")
    private static void encrypt(DefaultJedisClientConfig.Builder config, SSLSocketFactory tls) {
        SSLParameters parameters = new SSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        config.ssl(true).sslSocketFactory(tls).sslParameters(parameters);
    }

    @Override
    public LockHandle handle(LockSpec spec, LockListener listener) {
        return new Handle(spec, listener);
    }

    @Override
    public void close() {
        threads.close();
        nodes.forEach(RedisClient::close);
    }

    /** @threading caller-confined between a call and its outcome */
    private final class Handle extends BlockingHandle {
        private final byte[] key;
        private final Duration ttl;
        private final SetParams ifAbsent;
        private byte[] token = {};

        Handle(LockSpec spec, LockListener listener) {
            super(threads, listener);
            this.key = spec.resource().getBytes(StandardCharsets.UTF_8);
            this.ttl = spec.ttl();
            this.ifAbsent = SetParams.setParams().nx().px(ttl.toMillis());
        }

        @Override
        AcquireOutcome.Kind tryAcquire() {
            token = tokens.next();
            long startNs = System.nanoTime();
            VoteCount votes = ask(PeerScript.ACQUIRE);
            long validityNs = VoteCount.validityNs(ttl, System.nanoTime() - startNs);
            if (votes.isWon() && validityNs > 0) {
                validFor(validityNs);
                return AcquireOutcome.Kind.ACQUIRED;
            }
            ask(PeerScript.RELEASE);
            return votes.isWon() ? AcquireOutcome.Kind.TOO_SLOW : votes.lost();
        }

        @Override
        ReleaseOutcome tryRelease() {
            return ask(PeerScript.RELEASE).released();
        }

        /** All nodes in turn; stops at a lost acquire. */
        private VoteCount ask(PeerScript verb) {
            VoteCount votes = new VoteCount(nodes.size());
            for (RedisClient node : nodes) {
                try {
                    votes.onReply(verb == PeerScript.ACQUIRE ? set(node) : compareAndDelete(node));
                } catch (JedisException e) {
                    votes.onFailure();
                }
                if (verb == PeerScript.ACQUIRE && votes.isDecided() && !votes.isWon()) {
                    break;
                }
            }
            return votes;
        }

        private long set(RedisClient node) {
            return node.set(key, token, ifAbsent) == null ? 0 : 1;
        }

        private long compareAndDelete(RedisClient node) {
            List<byte[]> keys = List.of(key);
            List<byte[]> arguments = List.of(token);
            try {
                return (Long) node.evalsha(SHA, keys, arguments);
            } catch (JedisNoScriptException e) {
                return (Long) node.eval(SOURCE, keys, arguments);
            }
        }
    }
}
