package dev.redlock.loadtest.commit;

import dev.redlock.trial.nodes.TemporaryFolders;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import javax.tools.ToolProvider;

/**
 * Compiles states of the project for {@link VersusCommitCommand} in a temporary folder: {@code resp-codec},
 * {@code redlock-core} and the {@link CommitDriver}. The libraries are those of this program, so it needs neither Maven
 * nor a network, and a difference of two states is one of the project.
 *
 * @threading caller-confined
 */
final class CommitBuild implements AutoCloseable {

    private static final String DRIVER = "load-test/src/main/java/" + CommitDriver.class.getName().replace('.', '/')
            + ".java";

    /** Files of the modules that are compiled. */
    private static final Pattern SOURCES = Pattern.compile("(resp-codec|redlock-core)/src/main/.*[^/]");

    private final Path root;
    private final Path folder = TemporaryFolders.create("versus-commit-");

    /**
     * @param inside the project's root or a folder in it
     */
    CommitBuild(Path inside) throws IOException {
        root = Path.of(git(inside, "rev-parse", "--show-toplevel"));
    }

    /** Compiles a copy of a commit; returns the class path. A worktree would stay in the repository after a signal. */
    String commit(String revision) throws IOException {
        Path tree = Files.createDirectory(folder.resolve("tree"));
        Path messages = folder.resolve("messages");
        List<String> command = List.of("git", "-C", root.toString(), "archive", "--format=zip", revision);
        Process git = new ProcessBuilder(command).redirectError(messages.toFile()).start();
        try (ZipInputStream files = new ZipInputStream(git.getInputStream())) {
            for (ZipEntry file = files.getNextEntry(); file != null; file = files.getNextEntry()) {
                if (SOURCES.matcher(file.getName()).matches()) {
                    Path copy = tree.resolve(file.getName());
                    Files.createDirectories(copy.getParent());
                    Files.copy(files, copy);
                }
            }
            git.getInputStream().readAllBytes();
        }
        requireSuccess(command, git, Files.readString(messages).strip());
        return compile(tree, "commit");
    }

    /** Compiles the working tree as it is; returns the class path. */
    String workingTree() throws IOException {
        return compile(root, "working-tree");
    }

    private String compile(Path tree, String name) throws IOException {
        Path classes = Files.createDirectory(folder.resolve(name));
        String libraries = System.getProperty("java.class.path");
        List<String> arguments = new ArrayList<>(List.of("--release", "17", "-g", "-nowarn", "-proc:none", "-d",
                classes.toString(), "-cp", libraries, driver(tree, name).toString()));
        for (String module : List.of("resp-codec", "redlock-core")) {
            for (Path file : files(tree.resolve(module + "/src/main/java"))) {
                if (!file.endsWith("module-info.java")) {
                    arguments.add(file.toString());
                }
            }
            Path resources = tree.resolve(module + "/src/main/resources");
            for (Path file : files(resources)) {
                Path copy = classes.resolve(resources.relativize(file).toString());
                Files.createDirectories(copy.getParent());
                Files.copy(file, copy);
            }
        }
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        if (ToolProvider.getSystemJavaCompiler().run(null, said, said, arguments.toArray(String[]::new)) != 0) {
            throw new IllegalStateException(name + " does not compile: " + said.toString(StandardCharsets.UTF_8));
        }
        return classes + File.pathSeparator + libraries;
    }

    /** The driver's source for a state: the first ones have all public types in one package. */
    private Path driver(Path tree, String name) throws IOException {
        Path copy = folder.resolve(name + "-driver").resolve(Path.of(DRIVER).getFileName());
        String source = Files.readString(root.resolve(DRIVER));
        Files.createDirectories(copy.getParent());
        return Files.writeString(copy, Files.exists(tree.resolve("redlock-core/src/main/java/dev/redlock/api"))
                ? source
                : source.replace("import dev.redlock.api.", "import dev.redlock."));
    }

    private static List<Path> files(Path below) throws IOException {
        try (Stream<Path> all = Files.exists(below) ? Files.walk(below) : Stream.empty()) {
            return all.filter(Files::isRegularFile).toList();
        }
    }

    static String git(Path in, String... words) throws IOException {
        List<String> command = new ArrayList<>(List.of("git", "-C", in.toAbsolutePath().toString()));
        command.addAll(List.of(words));
        Process git = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(git.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        requireSuccess(command, git, said);
        return said;
    }

    private static void requireSuccess(List<String> command, Process git, String said) {
        if (git.onExit().join().exitValue() != 0) {
            throw new IllegalStateException(String.join(" ", command) + ": " + said);
        }
    }

    /** Removes the classes. */
    @Override
    public void close() throws IOException {
        TemporaryFolders.delete(folder);
    }
}
