package dev.redlock.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.TransportKind;
import java.net.URL;
import java.net.URLClassLoader;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A client without TLS loads no class of TLS, so its jar may be absent and costs nothing. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class TlsClassesTest {

    private static final List<String> CLASSES = List.of("io.netty.handler.ssl.SslHandler",
            "io.netty.handler.ssl.SslContext", "io.netty.handler.ssl.OpenSsl", "dev.redlock.transport.TlsContexts");

    /** Loads the library again, and reports what it has loaded. */
    private static final class Observed extends URLClassLoader {
        Observed(URL[] places) {
            super(places, ClassLoader.getPlatformClassLoader());
        }

        List<String> loaded() {
            return CLASSES.stream().filter(name -> findLoadedClass(name) != null).toList();
        }
    }

    @Test
    void aClientWithoutTlsLoadsNoClassOfTls() throws Exception {
        try (Observed loader = ClassPath.kept(new Observed(ClassPath.places(place -> true)))) {
            Class<?> main = loader.loadClass(PlainClient.class.getName());
            main.getMethod("run", String.class).invoke(null, "127.0.0.1:1");
            assertEquals(List.of(), loader.loaded());
            main.getMethod("run", String.class).invoke(null, "rediss://127.0.0.1:1");
            assertTrue(loader.loaded().contains("dev.redlock.transport.TlsContexts"), "the test observes");
        }
    }

    /** Runs in the observed class loader. */
    public static final class PlainClient {

        private PlainClient() {
        }

        public static void run(String address) throws InterruptedException {
            try (Redlock redlock = Redlock.connect(new RedlockContext().nodes(address).transport(TransportKind.NIO))) {
                redlock.tryAcquire("plain", Duration.ofSeconds(1));
            }
        }
    }
}
