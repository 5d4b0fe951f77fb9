package dev.redlock.loadtest.consensus;

import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The libraries of the optional drivers. They are not in the program's jar, but in a folder beside it, and only the
 * processes that need them have it on their class path. Tests have them on their own class path.
 *
 * @threading any thread
 */
public final class PeerLibraries {
    private static final String FOLDER_NAME = "consensus";

    /** Why a class cannot be used; empty if it is on the class path or in the folder. */
    static Optional<String> missing(String className, String artifact) {
        return isOnClassPath(className) || number(artifact).isPresent()
                ? Optional.empty()
                : Optional.of("there is no " + artifact + " in " + folder() + ": build it with mvn -pl load-test -am "
                        + "-DskipTests package, and keep that folder beside load-test.jar");
    }

    /** The class path of a process that needs these libraries: that of this process, and the folder if it exists. */
    public static String classPath() {
        String own = System.getProperty("java.class.path");
        return Files.isDirectory(folder()) ? own + File.pathSeparator + folder().resolve("*") : own;
    }

    /** A library and its release, by the name of its jar, such as {@code jetcd 0.8.7}. */
    public static String version(String title, String artifact) {
        return title + " " + number(artifact).orElse("(missing)");
    }

    private static boolean isOnClassPath(String className) {
        try {
            Class.forName(className, false, PeerLibraries.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    /** From the name of the jar: not every library has its version inside. */
    private static Optional<String> number(String artifact) {
        Pattern name = Pattern.compile(Pattern.quote(artifact) + "-(\\d.*)\\.jar");
        try (Stream<Path> jars = Stream.concat(classPathJars(), folderJars())) {
            return jars.map(jar -> name.matcher(jar.getFileName().toString()))
                    .filter(Matcher::matches)
                    .map(matcher -> matcher.group(1))
                    .findFirst();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private static Stream<Path> classPathJars() {
        return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> entry.endsWith(".jar"))
                .map(Path::of);
    }

    private static Stream<Path> folderJars() throws IOException {
        return Files.isDirectory(folder()) ? Files.list(folder()) : Stream.empty();
    }

    /** Beside the jar or the folder of classes that this class comes from. */
    private static Path folder() {
        try {
            Path source = Path.of(PeerLibraries.class.getProtectionDomain().getCodeSource().getLocation().toURI());
            return source.resolveSibling(FOLDER_NAME);
        } catch (URISyntaxException e) {
            throw new IllegalStateException("the program's own location is no path", e);
        }
    }
}
