package dev.redlock.mutants;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * Prints the rejected step of each mutant of {@code step-mutants.txt}: {@code -Dmutants.first} and
 * {@code -Dmutants.last} choose a part of {@code safety-mutants.txt}, {@code -Dsteps.seeds} the seeds of each.
 */
public final class StepMutantsMain {
    private StepMutantsMain() {
    }

    public static void main(String[] arguments) throws Exception {
        List<Mutant> all = Mutant.list("safety-mutants.txt");
        Map<String, String> runs = StepMutants.read();
        Path folder = Files.createTempDirectory("redlock-step-mutants-");
        int last = Math.min(all.size(), Integer.getInteger("mutants.last", all.size()));
        for (int i = Integer.getInteger("mutants.first", 1); i <= last; i++) {
            Mutant mutant = all.get(i - 1);
            String run = runs.get(mutant.name());
            if (StepMutants.isSeen(run)) {
                System.out.printf("%3d %s | %s: %s%n", i, mutant.name(), run,
                        StepMutants.rejected(mutant, run, Integer.getInteger("steps.seeds", 20), folder));
            }
        }
        System.exit(0);
    }
}
