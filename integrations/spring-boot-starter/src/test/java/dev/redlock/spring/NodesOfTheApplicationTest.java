package dev.redlock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.redlock.Credentials;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.NodeState;
import dev.redlock.trial.nodes.RedisCluster;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RedisSentinels;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.StandardEnvironment;

/** An application without {@code redlock.nodes}: the properties of its Redis name the node. */
@Timeout(120)
class NodesOfTheApplicationTest {

    private static final Duration TTL = Duration.ofSeconds(2);

    /** The log lines of redlock. */
    private static final List<String> LINES = new CopyOnWriteArrayList<>();
    /** A field, because a logger without references loses its handler. */
    private static final Logger LOG = Logger.getLogger("dev.redlock");

    static {
        LOG.setLevel(Level.INFO);
        LOG.addHandler(new Handler() {
            @Override
            public void publish(LogRecord line) {
                LINES.add(line.getMessage());
            }

            @Override
            public void flush() {
                // Nothing is buffered.
            }

            @Override
            public void close() {
                // There is nothing to close.
            }
        });
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class App {
    }

    private static ApplicationContextRunner runner(String... properties) {
        return new ApplicationContextRunner().withUserConfiguration(App.class)
                .withPropertyValues("redlock.restart-guard=off", "redlock.connect-timeout=20s",
                        "redlock.node-timeout=1s")
                .withPropertyValues(properties);
    }

    private static RedlockContext context(String... properties) {
        Map<String, Object> values = new HashMap<>();
        for (String property : properties) {
            int equals = property.indexOf('=');
            values.put(property.substring(0, equals), property.substring(equals + 1));
        }
        StandardEnvironment environment = new StandardEnvironment();
        environment.getPropertySources().addFirst(new MapPropertySource("test", values));
        DefaultListableBeanFactory beans = new DefaultListableBeanFactory();
        return new RedlockAutoConfiguration().redlockContext(environment,
                beans.getBeanProvider(RedlockContextCustomizer.class), beans);
    }

    /** Each kind, its precedence, and the form of hosts. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            host=db                                                       | db:6379
            port=7                                                        | localhost:7
            host=db;port=7                                                | db:7
            host=::1                                                      | [::1]:6379
            host=db;ssl.enabled=true                                      | rediss://db:6379
            host=db;ssl.enabled=yes                                       | rediss://db:6379
            host=db;ssl.enabled=on                                        | rediss://db:6379
            host=db;ssl.enabled=1                                         | rediss://db:6379
            host=db;ssl.enabled=TRUE                                      | rediss://db:6379
            host=db;ssl.enabled=true ;port=7                              | rediss://db:7
            host=db;ssl.enabled=off                                       | db:6379
            host=db;ssl.enabled=                                          | db:6379
            host=db;ssl.bundle=mine                                       | rediss://db:6379
            host=db;ssl.enabled=no;ssl.bundle=mine                        | db:6379
            host=db;url=redis://other                                     | other:6379
            url=rediss://u:p@other:7/3;ssl.enabled=false                  | rediss://other:7
            url=redis://u:p@other:7;ssl.enabled=yes                       | rediss://other:7
            url=redis://u:p@other:7;ssl.bundle=mine                       | rediss://other:7
            url=redis://secret@other:7                                    | other:7
            cluster.nodes=a:1,b:2;host=db                                 | redis-cluster://a:1,b:2
            cluster.nodes[0]=a:1;cluster.nodes[1]=b:2;ssl.enabled=true    | rediss-cluster://a:1,b:2
            sentinel.master=m;sentinel.nodes=a:1,b:2;cluster.nodes=c:1    | redis-sentinel://a:1,b:2/m
            sentinel.master=m;sentinel.nodes=a, b:2;ssl.enabled=true      | rediss-sentinel://a:26379,b:2/m
            sentinel.master=m;sentinel.nodes=a;username=u;password=a/b@c, | redis-sentinel://a:26379/m
            """)
    void thePropertiesOfTheRedisNameTheNode(String properties, String address) {
        String[] all = List.of(properties.split(";"))
                .stream()
                .map(one -> "spring.data.redis." + one)
                .toArray(String[]::new);
        assertThat(context(all).toString()).contains("nodes=[" + address + "],").doesNotContain("secret", "a/b");
    }

    @Test
    void withoutAnyOfThemThereAreNoNodes() {
        assertThat(context("spring.data.redis.password=x", "spring.data.redis.timeout=1s").hasNodes()).isFalse();
    }

    @Test
    void nodesOfRedlockPrecedeThem() {
        assertThat(context("redlock.nodes=a:1,b:2", "spring.data.redis.host=db", "spring.data.redis.password=x")
                .toString()).contains("nodes=[a:1, b:2],");
    }

    @Test
    void nodesOfACustomizerAloneAreLogged() {
        LINES.clear();
        DefaultListableBeanFactory beans = new DefaultListableBeanFactory();
        beans.registerSingleton("customizer", (RedlockContextCustomizer) context -> context.nodes("a:1"));
        RedlockContext context = new RedlockAutoConfiguration().redlockContext(new StandardEnvironment(),
                beans.getBeanProvider(RedlockContextCustomizer.class), beans);
        assertThat(context.toString()).contains("nodes=[a:1],");
        assertThat(LINES).containsExactly("a RedlockContextCustomizer names the nodes");
    }

    @Test
    void commasWithinAnAddressWithSentinelsAreNoSeparators() {
        assertThat(context("redlock.nodes=a:1,redis-sentinel://s1:1,s2:2,[::1]:3/m,rediss-sentinel://u:p@s4/n,b:2")
                .toString()).contains(
                        "nodes=[a:1, redis-sentinel://s1:1,s2:2,[::1]:3/m, rediss-sentinel://s4:26379/n, b:2],");
    }

    @Test
    void aWrongValueForTlsIsRejected() {
        assertThatThrownBy(() -> context("spring.data.redis.host=db", "spring.data.redis.ssl.enabled=tru",
                "spring.data.redis.password=hidden"))
                .hasMessageContaining("spring.data.redis.ssl.enabled")
                .hasMessageNotContaining("hidden");
    }

    @ParameterizedTest
    @ValueSource(strings = {"sentinel.nodes=a:1", "sentinel.master=m", "sentinel.master=m/1;sentinel.nodes=a:1",
        "cluster.nodes=a:x", "url=hidden", "url=http://u:hidden@a", "url=redis://u:hid den@a",
        "url=redis://u:hidden@:1", "host=a b;password=hidden", "host=db;port=0;password=hidden"})
    void wrongOnesAreReportedWithoutPasswords(String properties) {
        String[] all = List.of(properties.split(";"))
                .stream()
                .map(one -> "spring.data.redis." + one)
                .toArray(String[]::new);
        assertThatThrownBy(() -> context(all)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageNotContaining("hidden")
                .hasMessageNotContaining("hid den");
    }

    private static NodeStatus ready(ApplicationContext context) throws InterruptedException {
        NodeStatus node = context.getBean(Redlock.class).nodes().get(0);
        long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (node.state() != NodeState.READY) {
            assertThat(System.nanoTime() - deadlineNs).as(node.toString()).isNegative();
            new CountDownLatch(1).await(5, TimeUnit.MILLISECONDS);
        }
        return node;
    }

    private static void lock(ApplicationContext context) throws InterruptedException {
        ready(context);
        assertThat(context.getBean(Redlock.class).acquire("orders", TTL).isAcquired()).isTrue();
    }

    /** The provider of a customizer, and the password of redlock, replace that of the application. */
    @Test
    void locksOnTheServerOfTheApplication() {
        RedisNodesContext servers = new RedisNodesContext().source(Source.PATH).count(1).config("requirepass s3cr3t");
        try (RedisNodes nodes = RequiredNodes.start(servers)) {
            String port = "spring.data.redis.port=" + nodes.node(0).address().port();
            runner(port, "spring.data.redis.host=127.0.0.1", "spring.data.redis.password=s3cr3t")
                    .run(NodesOfTheApplicationTest::lock);
            runner("spring.data.redis.url=redis://:s3cr3t@127.0.0.1:" + nodes.node(0).address().port())
                    .run(NodesOfTheApplicationTest::lock);
            runner(port, "spring.data.redis.password=wrong", "redlock.password=s3cr3t")
                    .run(NodesOfTheApplicationTest::lock);
            runner(port, "spring.data.redis.password=wrong")
                    .withBean(RedlockContextCustomizer.class,
                            () -> context -> context
                                    .credentials(address -> Credentials.of("s3cr3t".toCharArray())))
                    .run(NodesOfTheApplicationTest::lock);
            assertThat(LINES.toString()).contains(
                    "spring.data.redis.host names the node, because redlock.nodes is not set",
                    "spring.data.redis.url names the node", "spring.data.redis.port names the node")
                    .doesNotContain("s3cr3t");
        }
    }

    @Test
    void locksBehindTheSentinelsOfTheApplication() {
        RedisNodesContext servers = new RedisNodesContext().source(Source.PATH)
                .count(2)
                .config("repl-diskless-sync-delay 0")
                .config("requirepass s3rver")
                .config("masterauth s3rver");
        try (RedisNodes nodes = RequiredNodes.start(servers);
                RedisSentinels group = RedisSentinels.watch(nodes, "s3rver",
                        "user watcher on >w4tch allchannels -@all +auth +sentinel|get-master-addr-by-name"
                                + " +subscribe +unsubscribe")) {
            String sentinels = group.sentinels()
                    .stream()
                    .map(node -> "127.0.0.1:" + node.address().port())
                    .collect(Collectors.joining(","));
            runner("spring.data.redis.sentinel.master=" + RedisSentinels.NAME,
                    "spring.data.redis.sentinel.nodes=" + sentinels, "spring.data.redis.sentinel.username=watcher",
                    "spring.data.redis.sentinel.password=w4tch", "spring.data.redis.password=s3rver").run(context -> {
                        lock(context);
                        assertThat(ready(context).address())
                                .isEqualTo("redis-sentinel://" + sentinels + "/" + RedisSentinels.NAME);
                    });
            runner("redlock.nodes=redis-sentinel://" + sentinels + "/" + RedisSentinels.NAME,
                    "redlock.password=s3rver", "redlock.sentinel-username=watcher",
                    "redlock.sentinel-password=w4tch").run(NodesOfTheApplicationTest::lock);
            assertThat(LINES.toString()).contains("spring.data.redis.sentinel.nodes names the node",
                    "redlock.nodes names")
                    .doesNotContain("s3rver", "w4tch");
        }
    }

    @Test
    void locksOnTheClusterOfTheApplication() {
        RedisNodesContext servers = RedisCluster
                .enabled(new RedisNodesContext().source(Source.PATH).count(3), 5_000);
        try (RedisNodes nodes = RequiredNodes.start(servers)) {
            RedisCluster.form(nodes.nodes(), 3);
            runner("spring.data.redis.cluster.nodes=" + String.join(",", nodes.addresses()))
                    .run(NodesOfTheApplicationTest::lock);
            assertThat(LINES.toString()).contains("spring.data.redis.cluster.nodes names the node");
        }
    }
}
