package dev.redlock.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;

/** The threads of stages and listeners. On Java 17 the property has no effect. */
@Timeout(120)
class VirtualThreadsTest {

    private static final boolean ARE_PRESENT = Runtime.version().feature() >= 21;
    private static final String ON = "spring.threads.virtual.enabled=true";
    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(20))
            .waitUpTo(Duration.ofMinutes(1));
    private static final int CALLS = 40;

    private static RedisNodes nodes;

    @BeforeAll
    static void start() {
        nodes = RequiredNodes.start(Source.PATH, 3);
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

    private static ApplicationContextRunner runner(String property) {
        return new ApplicationContextRunner().withUserConfiguration(App.class)
                .withPropertyValues("redlock.nodes=" + String.join(",", nodes.addresses()), "redlock.restart-guard=off",
                        "redlock.connect-timeout=20s", "redlock.node-timeout=1s", property);
    }

    private static String here() {
        String thread = Thread.currentThread().toString();
        return (thread.startsWith("VirtualThread") ? "virtual " : "platform ") + Thread.currentThread().getName();
    }

    /** The thread that completes the stage of an acquisition that had to wait. */
    private static String threadOfAStage(Redlock redlock) throws Exception {
        Lease lease = redlock.acquire("a", OPTIONS).lease();
        CompletableFuture<String> thread = redlock.acquireAsync("a", OPTIONS)
                .toCompletableFuture()
                .thenApply((AcquireOutcome next) -> {
                    next.lease().close();
                    return here();
                });
        lease.release();
        return thread.get(60, TimeUnit.SECONDS);
    }

    private static String threadOfAListener(Redlock redlock) throws Exception {
        CompletableFuture<String> thread = new CompletableFuture<>();
        LeaseListener listener = new LeaseListener() {
            @Override
            public void onLost(Lease lease, LeaseState state) {
                thread.complete(here());
            }
        };
        AcquireOptions brief = AcquireOptions.ofTtl(Duration.ofMillis(200)).listener(listener);
        assertThat(redlock.acquire("b", brief).isAcquired()).isTrue();
        return thread.get(60, TimeUnit.SECONDS);
    }

    @Test
    void stagesAndListenersRunOnThem() {
        String expected = ARE_PRESENT ? "virtual " + VirtualThreads.NAME : "platform redlock-";
        runner(ON).run(context -> {
            assertThat(threadOfAStage(context.getBean(Redlock.class))).startsWith(expected);
            assertThat(threadOfAListener(context.getBean(Redlock.class))).startsWith(expected);
            // The beans of Spring Boot are what they would be without it. Spring Integration has the second one.
            assertThat(context.getBeansOfType(Executor.class)).containsKey("applicationTaskExecutor");
            assertThat(context.getBeansOfType(Executor.class).keySet()).isSubsetOf("applicationTaskExecutor",
                    "taskScheduler");
        });
    }

    /** More than the client has threads of its own. */
    @Test
    void functionsThatBlockDoNotHoldUpOthers() {
        if (!ARE_PRESENT) {
            return; // Threads of the platform are limited.
        }
        runner(ON).run(context -> {
            Redlock redlock = context.getBean(Redlock.class);
            List<CompletableFuture<?>> stages = new ArrayList<>();
            List<Lease> held = new ArrayList<>();
            CountDownLatch running = new CountDownLatch(CALLS);
            for (int i = 0; i < CALLS; i++) {
                held.add(redlock.acquire("c" + i, OPTIONS).lease());
                stages.add(redlock.acquireAsync("c" + i, OPTIONS).toCompletableFuture().thenAccept(outcome -> {
                    running.countDown();
                    try {
                        assertThat(running.await(60, TimeUnit.SECONDS)).isTrue();
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                }));
            }
            held.forEach(Lease::close);
            for (CompletableFuture<?> stage : stages) {
                stage.get(60, TimeUnit.SECONDS);
            }
        });
    }

    @Test
    void withoutThePropertyTheyRunOnThreadsOfThePlatform() {
        runner("spring.threads.virtual.enabled=false").run(
                context -> assertThat(threadOfAStage(context.getBean(Redlock.class))).startsWith("platform redlock-"));
    }

    @Test
    void theExecutorOfACustomizerReplacesThem() {
        Executor own = task -> new Thread(task, "own").start();
        runner(ON).withBean(RedlockContextCustomizer.class, () -> context -> context.callbackExecutor(own))
                .run(context -> assertThat(threadOfAStage(context.getBean(Redlock.class))).isEqualTo("platform own"));
    }
}
