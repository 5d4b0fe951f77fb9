package dev.redlock.house;

import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Predicate;

/** The class path of the tests, for a class loader that finds a part of it. */
final class ClassPath {

    /** The end of a class loader unloads the native library of Netty, also for the other tests. */
    private static final List<ClassLoader> KEPT = new CopyOnWriteArrayList<>();

    private ClassPath() {
    }

    /** Keeps a class loader with classes of Netty until the end of this process. */
    static <T extends ClassLoader> T kept(T loader) {
        KEPT.add(loader);
        return loader;
    }

    /** @return the folders and jars that a condition accepts */
    static URL[] places(Predicate<String> condition) {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(condition)
                .map(ClassPath::url)
                .toArray(URL[]::new);
    }

    private static URL url(String place) {
        try {
            return Path.of(place).toUri().toURL();
        } catch (MalformedURLException e) {
            throw new AssertionError(e);
        }
    }
}
