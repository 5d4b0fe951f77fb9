package dev.redlock.loadtest.driver;

import dev.redlock.transport.NodeAddress;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocketFactory;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.exceptions.JedisNoScriptException;
import redis.clients.jedis.params.SetParams;

/**
 * A hand-written quorum lock over Jedis: pooled connections, a thread for each cycle in flight, one node after the
 * other. Jedis itself has no lock.
 *
 * @threading any thread
 */
public final class JedisDriver implements LockDriver {
    @Override
    public String name() {
        return "jedis";
    }

    @Override
    public String version() {
        return LibraryVersion.of("Jedis", "redis.clients", "jedis");
    }

    @Override
    public String summary() {
        return "a sequential quorum lock written by hand over Jedis, pooled connections";
    }

    @Override
    public Set<DriverOption> options() {
        return Set.of(DriverOption.TLS);
    }

    @Override
    public LockSession open(SessionSpec spec) throws IOException {
        return JedisSession.open(spec);
    }

    /**
     * One pool of connections for each node.
     *
     * @threading any thread
     */
    private static final class JedisSession implements LockSession {
        private static final int NODE_TIMEOUT_MS = 2_000;
        private static final int POOL_SIZE = 64;
        private static final byte[] SHA = PeerScript.RELEASE.sha().getBytes(StandardCharsets.US_ASCII);
        private static final byte[] SOURCE = PeerScript.RELEASE.source().getBytes(StandardCharsets.UTF_8);

        private final List<RedisClient> nodes;
        private final CallerThreads threads = new CallerThreads("jedis");
        private final PeerTokens tokens = new PeerTokens();

        private JedisSession(List<RedisClient> nodes) {
            this.nodes = nodes;
        }

        static JedisSession open(SessionSpec spec) throws IOException {
            List<NodeAddress> addresses = spec.preferredNodes();
            SSLSocketFactory tls = spec.tls() == null ? null : spec.tls().files().read().context().getSocketFactory();
            JedisSession session = new JedisSession(addresses.stream().map(address -> client(address, tls)).toList());
            int ready = 0;
            String problem = null;
            for (RedisClient node : session.nodes) {
                try {
                    node.scriptLoad(PeerScript.RELEASE.source());
                    ready++;
                } catch (JedisException e) {
                    problem = e.getMessage();
                }
            }
            if (ready < addresses.size() / 2 + 1) {
                session.close();
                throw new IOException("only " + ready + " of " + addresses.size() + " nodes are ready: " + problem);
            }
            return session;
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
        public LockHandle handle(String resource, Duration ttl, LockListener listener) {
            return new Handle(resource, ttl, listener);
        }

        @Override
        public void close() {
            threads.close();
            nodes.forEach(RedisClient::close);
        }

        /**
         * One lock over all nodes.
         *
         * @threading caller-confined between a call and its outcome
         */
        private final class Handle extends BlockingHandle {
            private final byte[] key;
            private final Duration ttl;
            private final SetParams ifAbsent;
            private byte[] token = {};

            Handle(String resource, Duration ttl, LockListener listener) {
                super(threads, listener);
                this.key = resource.getBytes(StandardCharsets.UTF_8);
                this.ttl = ttl;
                this.ifAbsent = SetParams.setParams().nx().px(ttl.toMillis());
            }

            @Override
            AcquireVerdict tryAcquire() {
                token = tokens.next();
                long startNs = System.nanoTime();
                VoteCount votes = ask(PeerVerb.ACQUIRE);
                long validityNs = VoteCount.validityNs(ttl, System.nanoTime() - startNs);
                if (votes.isWon() && validityNs > 0) {
                    validFor(validityNs);
                    return AcquireVerdict.ACQUIRED;
                }
                ask(PeerVerb.RELEASE);
                return votes.isWon() ? AcquireVerdict.TOO_SLOW : votes.lost();
            }

            @Override
            ReleaseVerdict tryRelease() {
                return ask(PeerVerb.RELEASE).released();
            }

            /** All nodes in turn; stops at a lost acquire. */
            private VoteCount ask(PeerVerb verb) {
                VoteCount votes = new VoteCount(nodes.size());
                for (RedisClient node : nodes) {
                    try {
                        votes.onReply(verb == PeerVerb.ACQUIRE ? set(node) : compareAndDelete(node));
                    } catch (JedisException e) {
                        votes.onFailure();
                    }
                    if (verb == PeerVerb.ACQUIRE && votes.isDecided() && !votes.isWon()) {
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
}
