package dev.redlock.mutants;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

/**
 * Applies the mutants of {@code safety-mutants.txt} and {@code retained-mutants.txt} one by one, and runs the tests
 * that must kill each, in a JVM of its own. Fails if a mutant survives, or if a test fails without a mutant. {@code
 * -Dmutants.list} names other lists; {@code -Dmutants.first} and {@code -Dmutants.last} choose a part, from 1.
 */
public final class MutantsMain {
    private static final Path MODULE = Path.of("").toAbsolutePath();
    private static final int TIMEOUT_S = 120;
    private static final int PASSED = 0;
    private static final int FAILED = 1;

    private MutantsMain() {
    }

    public static void main(String[] args) throws Exception {
        List<Mutant> all = new ArrayList<>();
        for (String list : System.getProperty("mutants.list", "safety-mutants.txt,retained-mutants.txt").split(",")) {
            all.addAll(Mutant.list(list));
        }
        int first = Integer.getInteger("mutants.first", 1);
        int last = Math.min(all.size(), Integer.getInteger("mutants.last", all.size()));
        List<Mutant> mutants = all.subList(first - 1, last);
        long startNs = System.nanoTime();
        Path folder = Files.createTempDirectory("redlock-mutants-");
        TreeSet<String> tests = new TreeSet<>();
        mutants.forEach(mutant -> tests.addAll(mutant.killedBy()));
        if (exitCode(MODULE, tests, folder.resolve("unchanged.log")) != PASSED) {
            throw new IllegalStateException("a test fails without a mutant: see " + folder.resolve("unchanged.log"));
        }
        int survivorCount = 0;
        for (int i = 0; i < mutants.size(); i++) {
            Mutant mutant = mutants.get(i);
            Path own = Files.createDirectory(folder.resolve(Integer.toString(first + i)));
            Path log = own.resolve("tests.log");
            int exitCode = exitCode(MutantClasses.compile(mutant, own), mutant.killedBy(), log);
            boolean isKilled = exitCode == FAILED;
            survivorCount += isKilled ? 0 : 1;
            System.out.printf("%3d %-8s %s%s%n", first + i, isKilled ? "killed" : "SURVIVED", mutant.name(),
                    isKilled ? "" : " (exit code " + exitCode + ", see " + log + ")");
        }
        System.out.printf("%d mutants, %d survived, %d s%n", mutants.size(), survivorCount,
                TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - startNs));
        System.exit(survivorCount == 0 ? 0 : 1);
    }

    /** The exit code of JUnit's launcher; -1 after the timeout. The folder comes first on the class path. */
    private static int exitCode(Path classes, Iterable<String> tests, Path log)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(ProcessHandle.current().info().command().orElse("java"), "-ea",
                "-XX:TieredStopAtLevel=1", "-classpath",
                classes + File.pathSeparator + System.getProperty("java.class.path"),
                "org.junit.platform.console.ConsoleLauncher", "execute", "--disable-banner", "--details=summary",
                "--fail-if-no-tests"));
        tests.forEach(test -> command.addAll(
                List.of(test.contains("#") ? "--select-method" : "--select-class", SourceFiles.test(test))));
        Process process = new ProcessBuilder(command).directory(MODULE.toFile())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        if (!process.waitFor(TIMEOUT_S, TimeUnit.SECONDS)) {
            process.destroyForcibly().waitFor();
            return -1;
        }
        return process.exitValue();
    }
}
