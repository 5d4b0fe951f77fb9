package dev.redlock.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LockNotAcquiredException;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.shedlock.RedlockLockProvider;
import dev.redlock.spring.integration.RedlockLockRegistry;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.locks.Lock;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.http.ProblemDetail;
import org.springframework.integration.support.locks.DefaultLockRegistry;
import org.springframework.integration.support.locks.LockRegistry;

/** The adapters, the answers of web applications, and the name of the connections. */
@Timeout(60)
class RedlockPartsTest {

    private static final Duration TTL = Duration.ofSeconds(20);

    private static RedisNodes nodes;
    private static Redlock other;

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(RedlockAutoConfiguration.class,
                    RedlockAdaptersAutoConfiguration.class, RedlockWebAutoConfiguration.class))
            .withPropertyValues("redlock.nodes=" + String.join(",", nodes.addresses()), "redlock.restart-guard=off",
                    "redlock.connect-timeout=20s", "redlock.node-timeout=1s");

    @BeforeAll
    static void start() {
        nodes = RequiredNodes.start(Source.PATH, 3);
        other = Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .closeWaits(true)
                .connectTimeout(Duration.ofSeconds(20))
                .nodeTimeout(Duration.ofSeconds(1)));
    }

    @AfterAll
    static void end() {
        if (nodes != null) {
            other.close();
            nodes.close();
        }
    }

    // ---- adapters ---------------------------------------------------------------------------------------------------

    @Test
    void shedLockLocksWithTheClient() {
        runner.run(context -> {
            Optional<SimpleLock> lock = context.getBean(LockProvider.class)
                    .lock(new LockConfiguration(Instant.now(), "report", TTL, Duration.ZERO));
            assertThat(context.getBean(LockProvider.class)).isInstanceOf(RedlockLockProvider.class);
            assertThat(lock).isPresent();
            assertThat(nodes.node(0).call("KEYS", "*report*").toString()).contains("report");
            lock.orElseThrow().unlock();
        });
    }

    @Test
    void springIntegrationLocksWithTheClient() {
        runner.run(context -> {
            Lock lock = context.getBean(LockRegistry.class).obtain("group");
            assertThat(context.getBean(LockRegistry.class)).isInstanceOf(RedlockLockRegistry.class);
            assertThat(lock.tryLock()).isTrue();
            try {
                assertThat(nodes.node(0).call("KEYS", "*group*").toString()).contains("group");
            } finally {
                lock.unlock();
            }
        });
    }

    @Test
    void beansOfTheApplicationReplaceTheAdapters() {
        LockProvider provider = configuration -> Optional.empty();
        LockRegistry registry = new DefaultLockRegistry();
        ApplicationContextRunner own = runner.withBean(LockProvider.class, () -> provider);
        own.withBean(LockRegistry.class, () -> registry).run(context -> {
            assertThat(context.getBean(LockProvider.class)).isSameAs(provider);
            assertThat(context.getBean(LockRegistry.class)).isSameAs(registry);
        });
    }

    @Test
    void withoutAdaptersOrAClientThereAreNone() {
        runner.withClassLoader(new FilteredClassLoader("net.javacrumbs", "org.springframework.integration",
                "dev.redlock.shedlock", "dev.redlock.spring.integration")).run(context -> {
                    assertThat(context).hasNotFailed().hasSingleBean(Redlock.class);
                    assertThat(context).doesNotHaveBean("redlockLockProvider").doesNotHaveBean("redlockLockRegistry");
                });
        runner.withPropertyValues("redlock.enabled=false")
                .run(context -> assertThat(context).hasNotFailed()
                        .doesNotHaveBean(LockProvider.class)
                        .doesNotHaveBean(LockRegistry.class));
    }

    // ---- answers of web applications, which samples/spring-web asks for ---------------------------------------------

    private static ProblemDetail problem(AcquireOutcome outcome) {
        return new LockProblems().onNotAcquired(new LockNotAcquiredException("of secret-order", outcome));
    }

    @Test
    void aHeldLockIsAConflict() throws Exception {
        try (Lease lease = other.acquire("secret-order", TTL).lease()) {
            for (AcquireOutcome outcome : new AcquireOutcome[]{other.tryAcquire("secret-order", TTL),
                other.acquire("secret-order", AcquireOptions.ofTtl(TTL).waitUpTo(Duration.ofMillis(20)))}) {
                ProblemDetail problem = problem(outcome);
                assertThat(problem.getStatus()).isEqualTo(409);
                assertThat(problem.getProperties()).containsEntry("reason", "CONTENDED");
                assertThat(problem.toString()).doesNotContain("secret-order");
            }
            assertThat(lease.isHeld()).isTrue();
        }
    }

    @Test
    void aMissingQuorumIsAnUnavailableService() throws Exception {
        Redlock closed = Redlock.connect(new RedlockContext().nodes(nodes.addresses()));
        closed.close();
        ProblemDetail problem = problem(closed.tryAcquire("order", TTL));
        assertThat(problem.getStatus()).isEqualTo(503);
        assertThat(problem.getProperties()).containsEntry("reason", "CLOSED");
        try (RedisNodes own = RequiredNodes.start(Source.PATH, 1);
                Redlock alone = Redlock.connect(new RedlockContext().nodes(own.addresses())
                        .restartGuard(RestartGuardMode.OFF))) {
            own.node(0).kill();
            AcquireOutcome outcome = alone.acquire("order",
                    AcquireOptions.ofTtl(TTL).waitUpTo(Duration.ofMillis(100)));
            assertThat(problem(outcome).getStatus()).isEqualTo(503);
        }
    }

    // ---- the name ---------------------------------------------------------------------------------------------------

    @ParameterizedTest
    @CsvSource({"shop, , shop", "Büro 7, , B-ro-7", "'', , redlock", "shop, shop-3, shop-3"})
    void theNameOfTheApplicationIsThatOfTheConnections(String application, String property, String expected) {
        ApplicationContextRunner named = runner.withPropertyValues("spring.application.name=" + application);
        (property == null ? named : named.withPropertyValues("redlock.client-name=" + property)).run(context -> {
            assertThat(context.getBean(Redlock.class).tryAcquire("name", TTL).isAcquired()).isTrue();
            assertThat(nodes.node(0).call("CLIENT", "LIST").toString()).contains("name=" + expected + " ");
        });
    }

    @Test
    void aLongNameIsCut() {
        runner.withPropertyValues("spring.application.name=" + "n".repeat(70)).run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(nodes.node(0).call("CLIENT", "LIST").toString()).contains("name=" + "n".repeat(64) + " ");
        });
    }
}
