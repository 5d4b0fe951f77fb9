package dev.redlock.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.aspectj.lang.JoinPoint;
import org.aspectj.lang.ProceedingJoinPoint;
import org.aspectj.lang.annotation.AfterReturning;
import org.aspectj.lang.annotation.Around;
import org.aspectj.lang.annotation.Aspect;
import org.aspectj.lang.annotation.Before;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.EnableAspectJAutoProxy;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Aspects inside of the lock. They run on the thread of the method, which is not that of the caller. */
@Timeout(60)
class LockedAspectsTest {

    private static RedisNodes nodes;
    private static Redlock other;
    private static ConfigurableApplicationContext application;

    @BeforeAll
    static void start() {
        nodes = RequiredNodes.start(Source.PATH, 3);
        other = Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .connectTimeout(Duration.ofSeconds(20))
                .nodeTimeout(Duration.ofSeconds(1)));
        application = SpringApplication.run(App.class, "--redlock.nodes=" + String.join(",", nodes.addresses()),
                "--redlock.restart-guard=off", "--redlock.connect-timeout=20s", "--redlock.node-timeout=1s");
    }

    @AfterAll
    static void end() {
        if (application != null) {
            application.close();
            other.close();
            nodes.close();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @EnableAspectJAutoProxy
    static class App {
        @Bean
        Shop shop() {
            return new Shop();
        }

        @Bean
        Audit audit() {
            return new Audit();
        }
    }

    @Retention(RetentionPolicy.RUNTIME)
    @interface Audited {
        String value();
    }

    static class Shop {
        @Locked("stage")
        @Audited("a stage")
        public CompletableFuture<String> stage(CompletableFuture<String> work) {
            return work;
        }

        @Locked("mono")
        @Audited("a mono")
        public Mono<String> mono(CompletableFuture<String> work) {
            return Mono.fromFuture(work);
        }

        @Locked("flux")
        @Audited("a flux")
        public Flux<String> flux(CompletableFuture<String> work) {
            return Mono.fromFuture(work).flux();
        }
    }

    @Aspect
    static class Audit {
        private static final List<String> SEEN = new CopyOnWriteArrayList<>();

        @Around("@annotation(audited)")
        public Object around(ProceedingJoinPoint call, Audited audited) throws Throwable {
            SEEN.add("around " + audited.value());
            return call.proceed();
        }

        @Before("@annotation(dev.redlock.spring.LockedAspectsTest.Audited)")
        public void before(JoinPoint call) {
            SEEN.add("before " + call.getSignature().getName());
        }

        @AfterReturning("@annotation(audited)")
        public void after(Audited audited) {
            SEEN.add("after " + audited.value());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"stage", "mono", "flux"})
    void anAsynchronousMethodHasItsAspectsAndItsLock(String name) throws Exception {
        Shop shop = application.getBean(Shop.class);
        Audit.SEEN.clear();
        CompletableFuture<String> work = new CompletableFuture<>();
        CompletableFuture<String> result = switch (name) {
            case "stage" -> shop.stage(work);
            case "mono" -> shop.mono(work).toFuture();
            default -> shop.flux(work).last().toFuture();
        };
        await(() -> work.getNumberOfDependents() > 0 || result.isDone());
        assertThat(isFree(name)).as("free while the method runs").isFalse();
        work.complete("done");
        assertThat(result.get()).isEqualTo("done");
        assertThat(Audit.SEEN).containsExactly("around a " + name, "before " + name, "after a " + name);
        await(() -> isFree(name));
    }

    private static boolean isFree(String resource) {
        try {
            AcquireOutcome outcome = other.tryAcquire(resource, Duration.ofSeconds(20));
            if (outcome.isAcquired()) {
                outcome.lease().release();
            }
            return outcome.isAcquired();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void await(BooleanSupplier condition) {
        long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - deadlineNs).isNegative();
            try {
                new CountDownLatch(1).await(5, TimeUnit.MILLISECONDS);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }
}
