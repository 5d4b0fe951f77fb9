package dev.redlock.mutants;

import dev.redlock.sim.StepRuns;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * The mutants whose runs have a step that the specification rejects: {@code step-mutants.txt} names a run and a seed
 * for each, or the reason why there is none.
 */
final class StepMutants {
    private static final String LIST = "step-mutants.txt";

    private StepMutants() {
    }

    /** For the name of each mutant, the run and the seed, or the reason after a dash. */
    static Map<String, String> read() throws IOException {
        Map<String, String> all = new LinkedHashMap<>();
        try (InputStream in = Objects.requireNonNull(StepMutants.class.getResourceAsStream(LIST))) {
            new String(in.readAllBytes(), StandardCharsets.UTF_8).lines()
                    .filter(line -> !line.isBlank() && !line.startsWith("#"))
                    .map(line -> line.split(" \\| "))
                    .forEach(parts -> all.put(parts[0], parts[1]));
        }
        return all;
    }

    static boolean isSeen(String found) {
        return !found.startsWith("- ");
    }

    /**
     * Runs the run of a mutant with some seeds.
     *
     * @return the seed and the rejected step; null if there is none
     */
    static String rejected(Mutant mutant, String run, int seeds, Path folder) throws Exception {
        Path own = Files.createTempDirectory(folder, "mutant");
        ClassLoader loader = MutantClasses.loader(MutantClasses.compile(mutant, own));
        Method rejected = loader.loadClass(StepRuns.class.getName()).getMethod("rejected", String.class, long.class);
        String[] parts = run.split(", ");
        long first = Long.parseLong(parts[1]);
        for (long seed = first; seed < first + seeds; seed++) {
            Object found = rejected.invoke(null, parts[0], seed);
            if (found != null) {
                return seed + " | " + found;
            }
        }
        return null;
    }
}
