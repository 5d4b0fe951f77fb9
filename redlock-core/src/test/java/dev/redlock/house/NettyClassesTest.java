package dev.redlock.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.testing.LogLines;
import java.lang.reflect.InvocationTargetException;
import java.net.URLClassLoader;
import java.util.List;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** Clients with an older Netty, or without the best transport of the operating system. */
@Timeout(60)
class NettyClassesTest {

    /** Loads the library and Netty again, but not the classes whose names start with a text. */
    private static final class Without extends URLClassLoader {
        private final String hidden;

        Without(String hidden) {
            super(ClassPath.places(place -> true), ClassLoader.getPlatformClassLoader());
            this.hidden = hidden;
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            if (name.startsWith(hidden)) {
                throw new ClassNotFoundException(name);
            }
            return super.findClass(name);
        }
    }

    /** Returns the description of the transport of a client that does not find some classes. */
    private static Object connectWithout(String hidden) throws Exception {
        try (Without loader = ClassPath.kept(new Without(hidden))) {
            return loader.loadClass(AutoClient.class.getName()).getMethod("connect").invoke(null);
        }
    }

    /** Runs in the other class loader. */
    public static final class AutoClient {

        private AutoClient() {
        }

        public static String connect() {
            try (Redlock redlock = Redlock.connect(new RedlockContext().nodes("127.0.0.1:1"))) {
                return redlock.transportDescription();
            }
        }
    }

    @Test
    void anOlderNettyIsRejectedWithTheFixBeforeAClassIsMissing() {
        Throwable thrown = assertThrows(InvocationTargetException.class,
                () -> connectWithout("io.netty.channel.ManualIoEventLoop")).getCause();
        assertEquals(IllegalStateException.class, thrown.getClass(), thrown::toString);
        assertTrue(thrown.getMessage().startsWith("redlock needs Netty 4.2.2 or newer"), thrown.getMessage());
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aClientWithoutEpollWarnsOnce() throws Exception {
        try (LogLines log = new LogLines()) {
            String description = String.valueOf(connectWithout("io.netty.channel.epoll."));
            assertTrue(description.contains("(EPOLL: its classes are on neither"), description);
            List<String> lines = log.with(Level.WARNING, "TransportKind.AUTO chose");
            assertEquals(1, lines.size(), lines::toString);
            assertTrue(lines.get(0).contains(", not EPOLL: its classes are on neither"), lines.get(0));
        }
    }
}
