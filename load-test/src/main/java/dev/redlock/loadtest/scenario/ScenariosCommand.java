package dev.redlock.loadtest.scenario;

import dev.redlock.cli.ExitCodes;
import dev.redlock.loadtest.cli.BuildVersion;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.logging.Level;
import java.util.logging.Logger;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** @threading caller-confined */
@Command(name = "scenarios", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class,
        description = "Plays the failures discussed in the public debate about distributed locks on real nodes, and "
                + "prints a timeline of each. The end of the output names those that this machine cannot play.")
public final class ScenariosCommand implements Callable<Integer> {
    /** Silenced, because lost nodes and unconfirmed releases are part of the scenarios: the timeline shows them. */
    private static final Logger CLIENT_LOG = Logger.getLogger("dev.redlock");

    @Parameters(paramLabel = "NAME", completionCandidates = Names.class,
            description = "Scenarios to play: ${COMPLETION-CANDIDATES} (default: all).")
    private List<String> names = List.of();

    private final Map<Ending, List<String>> endings = new EnumMap<>(Ending.class);

    @Spec
    private CommandSpec spec;

    /** @threading immutable */
    static final class Names implements Iterable<String> {
        @Override
        public Iterator<String> iterator() {
            return Scenarios.ALL.stream().map(Scenario::name).iterator();
        }
    }

    @Override
    public Integer call() throws Exception {
        List<String> unknown = new ArrayList<>(names);
        Scenarios.ALL.forEach(scenario -> unknown.remove(scenario.name()));
        if (!unknown.isEmpty()) {
            throw new CommandLine.ParameterException(spec.commandLine(), "no such scenario: " + unknown);
        }
        CLIENT_LOG.setLevel(Level.SEVERE);
        PrintWriter out = spec.commandLine().getOut();
        for (Scenario scenario : Scenarios.ALL) {
            if (names.isEmpty() || names.contains(scenario.name())) {
                endings.computeIfAbsent(play(scenario, out), any -> new ArrayList<>()).add(scenario.name());
            }
        }
        endings.forEach((ending, which) -> out.println(ending.words + ": " + String.join(", ", which)));
        if (endings.containsKey(Ending.FAILED)) {
            return ExitCodes.FAILED;
        }
        return endings.containsKey(Ending.NOT_PLAYED) ? ExitCodes.NOT_PLAYED : ExitCodes.GOOD;
    }

    private static Ending play(Scenario scenario, PrintWriter out) throws Exception {
        out.printf("%s: %s%n", scenario.name(), scenario.claim());
        Optional<String> missing = scenario.missing();
        if (missing.isPresent()) {
            out.println("  NOT PLAYED: " + missing.get() + "\n");
            return Ending.NOT_PLAYED;
        }
        try {
            scenario.play().on(new Timeline(out));
            out.println("  as expected\n");
            return Ending.AS_EXPECTED;
        } catch (AssertionError e) {
            out.println("  FAIL: " + e.getMessage() + "\n");
            return Ending.FAILED;
        }
    }

    /** @threading immutable */
    private enum Ending {
        AS_EXPECTED("as expected"), FAILED("FAILED"), NOT_PLAYED("NOT PLAYED");

        private final String words;

        Ending(String words) {
            this.words = words;
        }
    }
}
