package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.redlock.api.TransportKind;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.SocketNodes;
import java.io.File;
import java.lang.ref.WeakReference;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The class loader of a web application is collected after {@code close}, although the threads that called the client
 * live on: those of a pool of the server.
 */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ClassLoaderTest {

    /** The application. Its classes, those of the client and those of Netty have a loader of their own. */
    public static final class Application implements Callable<String> {

        private final String[] addresses;

        public Application(String[] addresses) {
            this.addresses = addresses;
        }

        @Override
        public String call() throws Exception {
            try (Redlock redlock = Redlock
                    .connect(new RedlockContext().nodes(addresses)
                            // The end of a class loader would unload the native library of the other tests.
                            .transport(TransportKind.NIO)
                            .nodeTimeout(Duration.ofSeconds(5)))) {
                AcquireOptions options = AcquireOptions.ofTtl(Duration.ofSeconds(10));
                redlock.acquireAsync("stage", options).toCompletableFuture().join().lease().close();
                RedlockLock view = redlock.asLock("view", options);
                view.lock();
                view.unlock();
                redlock.inspect("orders");
                AcquireOutcome outcome = redlock.tryAcquire("orders", Duration.ofSeconds(10));
                return outcome.isAcquired() ? outcome.lease().release().name() : outcome.toString();
            }
        }
    }

    private static URLClassLoader newLoader() {
        URL[] places = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .map(ClassLoaderTest::url)
                .toArray(URL[]::new);
        return new URLClassLoader("application", places, ClassLoader.getPlatformClassLoader());
    }

    private static URL url(String place) {
        try {
            return Path.of(place).toUri().toURL();
        } catch (MalformedURLException e) {
            throw new AssertionError(e);
        }
    }

    /** A thread calls the application, which is then closed. Only the thread remains. */
    private static WeakReference<ClassLoader> loaderOfUsedAndClosed(ExecutorService thread, String... addresses)
            throws Exception {
        try (URLClassLoader loader = newLoader()) {
            Object application = loader.loadClass(Application.class.getName())
                    .getConstructor(String[].class)
                    .newInstance((Object) addresses);
            String outcome = thread.submit(() -> (String) ((Callable<?>) application).call()).get();
            assertEquals(ReleaseOutcome.RELEASED.name(), outcome);
            return new WeakReference<>(loader);
        }
    }

    @Test
    void aThreadThatUsedTheClientKeepsNothingOfIt() throws Exception {
        ExecutorService thread = Executors.newSingleThreadExecutor();
        try (SocketNodes nodes = new SocketNodes(3)) {
            WeakReference<ClassLoader> loader = loaderOfUsedAndClosed(thread, nodes.addresses());
            Await.until("collected", () -> {
                System.gc();
                return loader.refersTo(null);
            });
            assertFalse(thread.isShutdown());
        } finally {
            thread.shutdownNow();
        }
    }
}
