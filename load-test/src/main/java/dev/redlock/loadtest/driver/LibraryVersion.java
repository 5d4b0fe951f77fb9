package dev.redlock.loadtest.driver;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/**
 * Finds the release of a library on the class path, from the properties that Maven adds to every jar.
 *
 * @threading immutable
 */
final class LibraryVersion {
    private LibraryVersion() {
    }

    static String of(String title, String group, String artifact) {
        return of(LibraryVersion.class.getClassLoader(), title, group, artifact);
    }

    static String of(ClassLoader loader, String title, String group, String artifact) {
        String name = "META-INF/maven/" + group + "/" + artifact + "/pom.properties";
        try (InputStream in = loader.getResourceAsStream(name)) {
            return title + " " + (in == null ? "(not from a jar)" : read(in));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + name, e);
        }
    }

    private static String read(InputStream in) throws IOException {
        Properties properties = new Properties();
        properties.load(in);
        return properties.getProperty("version");
    }
}
