package dev.redlock.loadtest.result;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/**
 * Finds the release of a library on the class path, from the properties that Maven adds to every jar. Each library has
 * them at a path of its own, so they survive in a jar that is merged from many.
 *
 * @threading immutable
 */
public final class LibraryVersion {
    public static String of(String title, String group, String artifact) {
        return title + " " + number(group, artifact);
    }

    /** Such as {@code 4.2.18.Final}, or "(not from a jar)" for a library that runs from its classes. */
    public static String number(String group, String artifact) {
        String name = "META-INF/maven/" + group + "/" + artifact + "/pom.properties";
        try (InputStream in = LibraryVersion.class.getClassLoader().getResourceAsStream(name)) {
            return in == null ? "(not from a jar)" : read(in);
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
