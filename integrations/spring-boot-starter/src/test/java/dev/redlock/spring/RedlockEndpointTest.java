package dev.redlock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.redlock.AcquireOptions;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.api.Lease;
import dev.redlock.api.LocalLocks;
import dev.redlock.api.LockInspection;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.lang.management.ManagementFactory;
import java.security.Principal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import javax.management.MBeanServer;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.convert.ApplicationConversionService;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Configuration;

/** The endpoint of Actuator, on real nodes with a password. */
@Timeout(120)
class RedlockEndpointTest {

    private static final String PASSWORD = "s3cr3t";
    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(30))
            .waitUpTo(Duration.ofMinutes(1));
    private static final String EXPOSED = "management.endpoints.jmx.exposure.include=redlock";
    private static final ObjectName MBEAN = name("org.springframework.boot:type=Endpoint,name=Redlock");

    /** The parts of a path. */
    private static final String[] CARTS_1 = {"carts", "1"};
    private static final String[] CARTS_2 = {"carts", "2"};

    private static final List<String> LINES = new CopyOnWriteArrayList<>();
    /** A field, because a logger without references loses its handler. */
    private static final Logger LOG = Logger.getLogger("dev.redlock");

    private static RedisNodes nodes;

    private static ObjectName name(String text) {
        try {
            return new ObjectName(text);
        } catch (MalformedObjectNameException e) {
            throw new AssertionError(e);
        }
    }

    @BeforeAll
    static void start() {
        LOG.addHandler(new Handler() {
            @Override
            public void publish(LogRecord line) {
                LINES.add(line.getLevel() + " " + line.getMessage());
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
        nodes = RequiredNodes.start(new RedisNodesContext().source(Source.PATH)
                .count(3)
                .config("user app on >" + PASSWORD + " allkeys allchannels +@all"));
    }

    @AfterAll
    static void end() {
        if (nodes != null) {
            nodes.close();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class App {
    }

    private static ApplicationContextRunner runner(String... properties) {
        return new ApplicationContextRunner().withUserConfiguration(App.class)
                // As an application has.
                .withInitializer(context -> context.getEnvironment()
                        .setConversionService(new ApplicationConversionService()))
                .withPropertyValues("redlock.nodes=" + String.join(",", nodes.addresses()), "redlock.username=app",
                        "redlock.password=" + PASSWORD, "redlock.restart-guard=off", "redlock.connect-timeout=20s",
                        "redlock.node-timeout=1s", "redlock.client-name=shop-1", "redlock.name-in-values=true",
                        "redlock.event-loops=2", "spring.jmx.enabled=true")
                .withPropertyValues(properties);
    }

    private static void await(BooleanSupplier condition) throws InterruptedException {
        long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - deadlineNs).isNegative();
            new CountDownLatch(1).await(5, TimeUnit.MILLISECONDS);
        }
    }

    private static Redlock ready(ApplicationContext context) throws InterruptedException {
        Redlock redlock = context.getBean(Redlock.class);
        await(() -> redlock.nodes().stream().map(NodeStatus::state).allMatch(NodeState.READY::equals));
        return redlock;
    }

    @Test
    void showsTheNodesAndTheLocksOfThisProcess() {
        runner(EXPOSED).run(context -> {
            Redlock redlock = ready(context);
            RedlockEndpoint endpoint = context.getBean(RedlockEndpoint.class);
            List<String> names = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                names.add("orders/" + i);
                assertThat(redlock.acquire(names.get(i), OPTIONS.fenced()).isAcquired()).isTrue();
            }
            CompletableFuture<?> waiting = redlock.acquireAsync("orders/7", OPTIONS).toCompletableFuture();
            await(() -> endpoint.client(null).waitingCount() == 1);
            RedlockEndpoint.Client client = endpoint.client(null);
            assertThat(client.quorumAvailable()).isTrue();
            assertThat(client.degraded()).isFalse();
            assertThat(client.toleratedFailures()).isEqualTo(1);
            assertThat(client.transport()).isEqualTo(redlock.transportDescription());
            assertThat(client.nodes()).hasSize(6).allSatisfy(node -> {
                assertThat(node.state()).isEqualTo(NodeState.READY);
                assertThat(node.roundTripUs()).isPositive();
                assertThat(node.votesAgainInMs()).isNull();
                assertThat(node.server()).isNull();
            });
            assertThat(client.locksComplete()).isTrue();
            // Of both event loops, the oldest first.
            assertThat(client.held()).extracting(RedlockEndpoint.Held::resource).containsExactlyElementsOf(names);
            assertThat(client.held()).allSatisfy(lock -> {
                assertThat(lock.kind()).isEqualTo(LocalLocks.Kind.PLAIN);
                assertThat(lock.fencingToken()).isPositive();
                assertThat(lock.remainingMs()).isBetween(1L, 30_000L);
                assertThat(lock.ageMs()).isBetween(0L, 60_000L);
            });
            assertThat(client.waiting()).singleElement().satisfies(lock -> {
                assertThat(lock.resource()).isEqualTo("orders/7");
                assertThat(lock.count()).isEqualTo(1);
            });
            assertThat(endpoint.client(3).held()).extracting(RedlockEndpoint.Held::resource)
                    .containsExactlyElementsOf(names.subList(0, 3));
            assertThat(endpoint.client(3).heldCount()).isEqualTo(8);
            assertThat(client.toString()).doesNotContain(PASSWORD, "app");
            waiting.cancel(false);
        });
    }

    @Test
    void aNodeInQuarantineShowsWhenItVotes() {
        try (RedisNodes young = RequiredNodes.start(Source.PATH, 3)) {
            runner("redlock.nodes=" + String.join(",", young.addresses()), "redlock.username=default",
                    "redlock.password=", "redlock.restart-guard=uptime", EXPOSED).run(context -> {
                        RedlockEndpoint endpoint = context.getBean(RedlockEndpoint.class);
                        await(() -> endpoint.client(null)
                                .nodes()
                                .stream()
                                .allMatch(node -> node.votesAgainInMs() != null));
                        assertThat(endpoint.client(null).quorumAvailable()).isFalse();
                        assertThat(endpoint.client(null).nodes())
                                .allSatisfy(node -> assertThat(node.votesAgainInMs()).isBetween(1L, 90_000L));
                    });
        }
    }

    @Test
    void showsTheHolderOfALockAndNotItsValue() {
        runner(EXPOSED).run(context -> {
            Redlock redlock = ready(context);
            RedlockEndpoint endpoint = context.getBean(RedlockEndpoint.class);
            assertThat(endpoint.lock(CARTS_1).heldBy()).isNull();
            assertThat(endpoint.lock(CARTS_1).nodes()).allSatisfy(key -> {
                assertThat(key.kind()).isEqualTo(LockInspection.Kind.FREE);
                assertThat(key.remainingTtlMs()).isNull();
            });
            assertThat(redlock.acquire("carts/1", OPTIONS).isAcquired()).isTrue();
            RedlockEndpoint.Lock lock = endpoint.lock(CARTS_1);
            assertThat(lock.resource()).isEqualTo("carts/1");
            assertThat(lock.heldBy()).matches("[0-9a-f]{8}");
            assertThat(lock.nodes()).extracting(RedlockEndpoint.Key::address)
                    .containsExactlyElementsOf(redlock.nodes().stream().map(NodeStatus::address).limit(3).toList());
            assertThat(lock.nodes()).filteredOn(key -> lock.heldBy().equals(key.id()))
                    .hasSizeGreaterThan(1)
                    .allSatisfy(key -> {
                        assertThat(key.clientName()).isEqualTo("shop-1");
                        assertThat(key.remainingTtlMs()).isBetween(1L, 30_000L);
                    });
            String value = nodes.node(0).call("GET", "carts/1").toString();
            assertThat(lock.toString()).doesNotContain(PASSWORD, value);
        });
    }

    private static SecurityContext caller(String name) {
        return new SecurityContext() {
            @Override
            public Principal getPrincipal() {
                return name == null ? null : () -> name;
            }

            @Override
            public boolean isUserInRole(String role) {
                return false;
            }
        };
    }

    @Test
    void breaksTheValueWithTheIdAndLogsTheCaller() {
        runner(EXPOSED).run(context -> {
            Redlock redlock = ready(context);
            RedlockEndpoint endpoint = context.getBean(RedlockEndpoint.class);
            Lease lease = redlock.acquire("carts/2", OPTIONS).lease();
            String id = endpoint.lock(CARTS_2).heldBy();
            assertThat(endpoint.breakLock(CARTS_2, "00000000", caller(null)).outcome())
                    .isEqualTo(ReleaseOutcome.EXPIRED);
            assertThat(endpoint.breakLock(CARTS_2, id, caller("an\nna")))
                    .isEqualTo(new RedlockEndpoint.Broken("carts/2", id, ReleaseOutcome.RELEASED));
            assertThat(redlock.tryAcquire("carts/2", OPTIONS).isAcquired()).isTrue();
            lease.close();
            assertThat(LINES).contains(
                    "WARNING the endpoint redlock breaks the lock \"carts/2\" of the value with id 00000000, asked by a"
                            + " caller without a name: EXPIRED",
                    "WARNING the endpoint redlock breaks the lock \"carts/2\" of the value with id " + id
                            + ", asked by an\\nna: RELEASED");
            assertThat(LINES.toString()).doesNotContain(PASSWORD);
        });
    }

    @Test
    void wrongRequestsAreReported() {
        runner(EXPOSED).run(context -> {
            RedlockEndpoint endpoint = context.getBean(RedlockEndpoint.class);
            for (Integer max : List.of(-1, 10_001)) {
                assertThatThrownBy(() -> endpoint.client(max)).isInstanceOf(InvalidEndpointRequestException.class)
                        .hasMessageContaining(max + " is out of range: 0 to 10000");
            }
            assertThat(endpoint.client(10_000).locksComplete()).isTrue();
            assertThat(endpoint.client(0).held()).isEmpty();
            for (String id : List.of("", "3f9a01c", "3f9a01c22", "3F9A01C2", "zzzzzzzz")) {
                assertThatThrownBy(() -> endpoint.breakLock(CARTS_2, id, caller(null)))
                        .isInstanceOf(InvalidEndpointRequestException.class)
                        .hasMessageContaining("eight hexadecimal digits");
            }
            assertThatThrownBy(() -> endpoint.lock(new String[]{"x".repeat(600)}))
                    .isInstanceOf(InvalidEndpointRequestException.class);
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> endpoint.lock(CARTS_1)).isInstanceOf(IllegalStateException.class);
            assertThat(Thread.interrupted()).isTrue();
        });
    }

    // ---- what Spring Boot makes of it -------------------------------------------------------------------------------

    private static List<String> operations() throws Exception {
        return Arrays.stream(ManagementFactory.getPlatformMBeanServer().getMBeanInfo(MBEAN).getOperations())
                .map(operation -> operation.getName())
                .toList();
    }

    /** A read is what an exposed endpoint has; only the operator adds the break. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            management.endpoint.redlock.access=read-only                                                  | false
            management.endpoint.redlock.show-values=never                                                 | false
            management.endpoint.redlock.access=unrestricted                                               | true
            management.endpoint.redlock.access=unrestricted management.endpoints.access.max-permitted=read-only | false
            """)
    void breaksOnlyWithUnrestrictedAccess(String properties, boolean isBreakThere) {
        runner(EXPOSED).withPropertyValues(properties.split(" "))
                .run(context -> assertThat(operations())
                        .contains("client", "lock")
                        .hasSize(isBreakThere ? 3 : 2));
    }

    @ParameterizedTest
    @ValueSource(strings = {"management.endpoints.jmx.exposure.include=health", "redlock.enabled=false",
        "management.endpoint.redlock.access=none"})
    void isMissingUnlessItIsExposed(String property) {
        runner(EXPOSED, property).run(context -> {
            assertThat(context).hasNotFailed().doesNotHaveBean(RedlockEndpoint.class);
            assertThat(ManagementFactory.getPlatformMBeanServer().isRegistered(MBEAN)).isFalse();
        });
    }

    /** The operations with their parameters, as Actuator calls them. */
    @Test
    void runsThroughActuator() {
        runner(EXPOSED, "management.endpoint.redlock.access=unrestricted").run(context -> {
            Redlock redlock = ready(context);
            Lease lease = redlock.acquire("carts/3", OPTIONS).lease();
            MBeanServer server = ManagementFactory.getPlatformMBeanServer();
            String[] strings = {String[].class.getName()};
            for (Object max : Arrays.asList(null, 5)) {
                String client = server.invoke(MBEAN, "client", new Object[]{max},
                        new String[]{Integer.class.getName()}).toString();
                assertThat(client).contains("carts/3", "toleratedFailures").doesNotContain(PASSWORD);
            }
            Object[] name = {new String[]{"carts", "3"}};
            String lock = server.invoke(MBEAN, "lock", name, strings).toString();
            String id = context.getBean(RedlockEndpoint.class).lock(new String[]{"carts", "3"}).heldBy();
            assertThat(lock).contains(id);
            Object[] broken = {name[0], id, null};
            assertThat(server.invoke(MBEAN, "breakLock", broken, new String[]{strings[0], String.class.getName(),
                SecurityContext.class.getName()}).toString()).contains("RELEASED");
            lease.close();
        });
    }

    /** The endpoint shows one client. No server listens there. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            true  | INFO the endpoint redlock shows only the primary one of the clients [orders, stock]
            false | INFO there is no endpoint redlock, mark the client that it shows as @Primary: none is, of \
            [orders, stock]
            """)
    void severalClientsAreLogged(boolean isPrimary, String line) {
        LINES.clear();
        runner(EXPOSED).withBean("orders", Redlock.class, () -> Redlock.connect("127.0.0.1:1"),
                definition -> definition.setPrimary(isPrimary))
                .withBean("stock", Redlock.class, () -> Redlock.connect("127.0.0.1:1"))
                .run(context -> assertThat(context.getBeansOfType(RedlockEndpoint.class)).hasSize(isPrimary ? 1 : 0));
        assertThat(LINES).contains(line);
    }
}
