package dev.redlock.loadtest.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.Lease;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.io.File;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The shutdown hook of the page on operations, in a JVM that gets SIGTERM. */
@Timeout(60)
class ShutdownRecipeTest {
    private static final String RESOURCE = "orders/42";
    private static final String HELD = "held";

    @TempDir
    private Path folder;

    /** A process with a lock, which runs the recipe. */
    public static final class Holder {
        private Holder() {
            // Has only main.
        }

        /** Arguments: how the work ends, and the addresses of the nodes. */
        public static void main(String[] args) throws Exception {
            Redlock redlock = Redlock.connect(new RedlockContext().nodes(Arrays.copyOfRange(args, 1, args.length))
                    .nodeTimeout(Duration.ofSeconds(2)));
            boolean isStubborn = args[0].equals("stubborn");
            Runnable work = () -> work(redlock, isStubborn);
            Constructor<?> constructor = Class.forName("Snippet").getDeclaredConstructor();
            constructor.setAccessible(true);
            Method recipe = Arrays.stream(constructor.getDeclaringClass().getDeclaredMethods())
                    .filter(method -> method.getName().equals(JavaSnippet.METHOD))
                    .findAny()
                    .orElseThrow();
            recipe.setAccessible(true);
            recipe.invoke(constructor.newInstance(), redlock, work, (Consumer<Object>) any -> {
            });
        }

        private static void work(Redlock redlock, boolean isStubborn) {
            CountDownLatch never = new CountDownLatch(1);
            try (Lease lease = redlock.acquire(RESOURCE, AcquireOptions.ofTtl(Duration.ofSeconds(50))).lease()) {
                System.out.println(HELD + " " + lease.isHeld());
                do {
                    awaitInterrupt(never);
                } while (isStubborn);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        private static void awaitInterrupt(CountDownLatch never) {
            try {
                never.await();
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    @Test
    void locksAreFreeAfterSigterm() throws Exception {
        assertEquals(0, keysAfterSigterm("interruptible"));
    }

    /** A lock whose section continues is not released. */
    @Test
    void locksOfWorkThatDoesNotEndStay() throws Exception {
        assertTrue(keysAfterSigterm("stubborn") >= 2);
    }

    private int keysAfterSigterm(String work) throws Exception {
        JavaSnippet recipe = JavaSnippet.in(DocPages.root().resolve("docs/guides/operations.md"))
                .stream()
                .filter(snippet -> snippet.block().text().contains("addShutdownHook"))
                .findAny()
                .orElseThrow();
        assertEquals(List.of(), recipe.compile(folder, text -> text));
        String classPath = folder + File.pathSeparator
                + System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(3))) {
            ProcessBuilder builder = new ProcessBuilder(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp", classPath,
                    Holder.class.getName(), work).redirectError(ProcessBuilder.Redirect.INHERIT);
            builder.command().addAll(List.of(nodes.addresses()));
            Process holder = builder.start();
            try {
                assertEquals(HELD + " true", holder.inputReader().readLine());
                holder.destroy();
                assertTrue(holder.waitFor(30, TimeUnit.SECONDS), "it ends");
                assertEquals(143, holder.exitValue());
            } finally {
                holder.destroyForcibly();
            }
            return (int) nodes.nodes().stream().filter(node -> node.call("GET", RESOURCE) != null).count();
        }
    }
}
