package dev.redlock.house;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.RedlockLock;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.sim.SocketNodes;
import dev.redlock.testing.Await;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.ref.WeakReference;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The class loader of a web application is collected after {@code close}, although the threads that called the client
 * live on: those of a pool of the server. It happens in a process of its own: the end of a class loader unloads the
 * native library of Netty, also for other class loaders.
 */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class ClassLoaderTest {

    private static final String COLLECTED = "collected";

    /** The application. Its classes, those of the client and those of Netty have a loader of their own. */
    public static final class Application implements Callable<String> {

        private final String[] addresses;

        public Application(String[] addresses) {
            this.addresses = addresses;
        }

        @Override
        public String call() throws Exception {
            try (Redlock redlock = Redlock
                    .connect(new RedlockContext().nodes(addresses).nodeTimeout(Duration.ofSeconds(5)))) {
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

    /** The server of the application. */
    static final class Server {

        private Server() {
        }

        /** The arguments are the addresses of the nodes. */
        public static void main(String[] addresses) throws Exception {
            ExecutorService thread = Executors.newSingleThreadExecutor();
            WeakReference<ClassLoader> loader = loaderOfUsedAndClosed(thread, addresses);
            Await.until(COLLECTED, () -> {
                System.gc();
                return loader.refersTo(null);
            });
            System.out.println(thread.isShutdown() ? "the thread has ended" : COLLECTED);
            thread.shutdownNow();
        }

        private static URLClassLoader newLoader() {
            URL[] places = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                    .map(Server::url)
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
    }

    @Test
    void aThreadThatUsedTheClientKeepsNothingOfIt() throws Exception {
        try (SocketNodes nodes = new SocketNodes(3)) {
            List<String> command = new ArrayList<>(
                    List.of(ProcessHandle.current().info().command().orElse("java"), "-XX:TieredStopAtLevel=1",
                            "-classpath", System.getProperty("java.class.path"), Server.class.getName()));
            command.addAll(List.of(nodes.addresses()));
            Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
            List<String> lines;
            try (BufferedReader output = new BufferedReader(
                    new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
                lines = output.lines().toList();
            }
            assertEquals(0, process.waitFor(), lines::toString);
            assertEquals(COLLECTED, lines.get(lines.size() - 1), lines::toString);
        }
    }
}
