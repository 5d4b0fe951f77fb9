package dev.redlock.resp;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Searches with each fuzz test of {@link RespFuzzTest} in a JVM of its own, from the kept corpus, and keeps what is
 * new. Prints how the coverage grew. Fails if an input fails; that input is then in the output folder.
 *
 * <p>Jazzer's own launcher runs each input some fifteen times as fast as its JUnit extension.
 */
public final class FuzzMain {
    private static final Path MODULE = Path.of("").toAbsolutePath();
    private static final List<String> FUZZ_TESTS = List.of("agreesWithOracle", "agreesWithOracleForAnySplit");
    /** A line of the fuzzer with the code reached: control flow edges, and edges with counts and compared values. */
    private static final Pattern PROGRESS = Pattern
            .compile("#(\\d+)\\s+(INITED|pulse|DONE)\\s+cov: (\\d+) ft: (\\d+) corp: (\\d+)/.*");

    private FuzzMain() {
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        long executions = Long.getLong("fuzz.executions", 100_000);
        for (String fuzzTest : FUZZ_TESTS) {
            search(fuzzTest, executions);
        }
    }

    private static void search(String fuzzTest, long executions) throws IOException, InterruptedException {
        Path output = Files.createDirectories(MODULE.resolve("target/fuzz/" + fuzzTest));
        Path corpus = emptyFolder(output.resolve("corpus"));
        copyNamedInputs(fuzzTest, corpus);
        Path kept = FuzzCorpus.file(MODULE, fuzzTest);
        if (Files.exists(kept)) {
            FuzzCorpus.unpack(kept, corpus);
        }
        Path log = output.resolve("search.log");
        run(fuzzTest, log, List.of("-runs=" + executions, "-print_final_stats=1", "-artifact_prefix=" + output + "/",
                corpus.toString()));
        Path smallest = emptyFolder(output.resolve("smallest"));
        run(fuzzTest, output.resolve("merge.log"), List.of("-merge=1", smallest.toString(), corpus.toString()));
        FuzzCorpus.pack(smallest, kept);
        printGrowth(fuzzTest, log, FuzzCorpus.read(kept).size());
    }

    private static Path emptyFolder(Path folder) throws IOException {
        Files.createDirectories(folder);
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
            for (Path file : files) {
                Files.delete(file);
            }
        }
        return folder;
    }

    private static void copyNamedInputs(String fuzzTest, Path corpus) throws IOException {
        Path named = MODULE.resolve("src/test/resources/dev/redlock/resp/RespFuzzTestInputs/" + fuzzTest);
        try (DirectoryStream<Path> files = Files.newDirectoryStream(named)) {
            for (Path file : files) {
                Files.copy(file, corpus.resolve(file.getFileName()), StandardCopyOption.REPLACE_EXISTING);
            }
        }
    }

    private static void run(String fuzzTest, Path log, List<String> options) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(
                List.of(ProcessHandle.current().info().command().orElse("java"), "-Xmx1g",
                        "-classpath", System.getProperty("java.class.path"), "com.code_intelligence.jazzer.Jazzer",
                        "--target_class=" + RespFuzzTest.class.getName(), "--target_method=" + fuzzTest,
                        "--instrumentation_includes=dev.redlock.resp.**", "--reproducer_path=" + log.getParent()));
        command.addAll(options);
        int exitCode = new ProcessBuilder(command).redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start()
                .waitFor();
        if (exitCode != 0) {
            throw new IllegalStateException(fuzzTest + " ended with exit code " + exitCode + ", see " + log);
        }
    }

    private static void printGrowth(String fuzzTest, Path log, int keptCount) throws IOException {
        System.out.println(fuzzTest);
        System.out.printf("%12s %8s %10s %8s%n", "executions", "edges", "features", "inputs");
        for (String line : Files.readAllLines(log)) {
            Matcher progress = PROGRESS.matcher(line);
            if (progress.matches()) {
                System.out.printf("%12s %8s %10s %8s%n", progress.group(1), progress.group(3), progress.group(4),
                        progress.group(5));
            } else if (line.startsWith("stat::average_exec_per_sec")) {
                System.out.println(line);
            }
        }
        System.out.println(keptCount + " inputs kept");
    }
}
