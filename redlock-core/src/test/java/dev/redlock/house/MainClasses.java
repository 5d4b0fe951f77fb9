package dev.redlock.house;

import dev.redlock.Redlock;
import dev.redlock.resp.RespWriter;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/** The classes of the core and of the codec, from folders or jars. */
final class MainClasses {

    private static final String END = ".class";

    private MainClasses() {
    }

    /** Binary names, sorted. */
    static Set<String> names() throws IOException, URISyntaxException {
        Set<String> names = new TreeSet<>();
        for (Class<?> one : List.of(Redlock.class, RespWriter.class)) {
            Path place = Path.of(one.getProtectionDomain().getCodeSource().getLocation().toURI());
            if (Files.isDirectory(place)) {
                add(names, place);
            } else {
                try (FileSystem jar = FileSystems.newFileSystem(place)) {
                    add(names, jar.getPath("/"));
                }
            }
        }
        return names;
    }

    private static void add(Set<String> names, Path root) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            files.map(file -> root.relativize(file).toString())
                    .filter(file -> file.endsWith(END) && !file.endsWith("-info.class"))
                    .forEach(file -> names.add(file.substring(0, file.length() - END.length()).replace('/', '.')));
        }
    }

    static Class<?> type(String name) {
        try {
            return Class.forName(name, false, MainClasses.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new AssertionError(e);
        }
    }
}
