package dev.redlock.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Micrometer is optional: without its jars every class but one loads, and a client works. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class MetricsClassesTest {

    private static URLClassLoader withoutMicrometer() {
        URL[] places = ClassPath.places(place -> !place.contains("micrometer-"));
        return ClassPath.kept(new URLClassLoader(places, ClassLoader.getPlatformClassLoader()));
    }

    private static List<String> classesOfTheLibrary() throws Exception {
        Path root = Path.of(Redlock.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        try (Stream<Path> files = Files.walk(root)) {
            return files.map(file -> root.relativize(file).toString().replace(File.separatorChar, '.'))
                    .filter(name -> name.startsWith("dev.redlock.") && name.endsWith(".class"))
                    .filter(name -> !name.endsWith("-info.class"))
                    .map(name -> name.substring(0, name.length() - ".class".length()))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Whether a class and everything in its signatures can be linked. */
    private static boolean isLoadable(ClassLoader loader, String name) {
        try {
            Class<?> type = Class.forName(name, false, loader);
            return type.getDeclaredMethods().length + type.getDeclaredFields().length
                    + type.getDeclaredConstructors().length >= 0;
        } catch (ClassNotFoundException | NoClassDefFoundError e) {
            return false;
        }
    }

    @Test
    void onlyRedlockMetricsNeedsMicrometer() throws Exception {
        try (URLClassLoader loader = withoutMicrometer()) {
            List<String> names = classesOfTheLibrary();
            assertTrue(names.size() > 100, names::toString);
            List<String> missing = names.stream()
                    .filter(name -> !isLoadable(loader, name))
                    .map(name -> name.replaceAll("\\$.*", ""))
                    .distinct()
                    .toList();
            assertEquals(List.of("dev.redlock.RedlockMetrics"), missing);
        }
    }

    @Test
    void aClientWorksWithoutMicrometer() throws Exception {
        try (URLClassLoader loader = withoutMicrometer()) {
            assertThrows(ClassNotFoundException.class, () -> loader.loadClass("io.micrometer.core.instrument.Meter"));
            Class<?> client = loader.loadClass(TlsClassesTest.PlainClient.class.getName());
            client.getMethod("run", String.class).invoke(null, "127.0.0.1:1");
        }
    }
}
