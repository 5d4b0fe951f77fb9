package dev.redlock.loadtest;

import dev.redlock.loadtest.report.ResultPlots;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * Pictures of a run that was made before.
 *
 * @threading caller-confined
 */
@Command(name = "plots", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        description = "Draws PNG pictures for documents from the results.json of a run: latency against the number of "
                + "nodes, percentile curves, drivers side by side. (Charts of report.html can be saved as SVG.)",
        footer = {"", "Examples:",
            "  load-test plots load-test-results/compare-20260102-030405/results.json",
            "  load-test plots results.json --output docs/images"})
final class PlotsCommand implements Callable<Integer> {
    @Parameters(paramLabel = "RESULTS", description = "A results.json.")
    private Path results;

    @Option(names = "--output", paramLabel = "FOLDER",
            description = "Where the pictures go (default: plots, beside the results).")
    private Path output;

    @Spec
    private CommandSpec spec;

    PlotsCommand() {
        // picocli fills the fields.
    }

    @Override
    public Integer call() throws IOException {
        CommandLine line = spec.commandLine();
        Options.require(line, Files.isReadable(results), results + " cannot be read: expected a results.json of a run");
        Path folder = output == null ? results.resolveSibling("plots") : output;
        // No window is ever opened; without this a machine that has a display may be asked for it.
        System.setProperty("java.awt.headless", "true");
        ResultPlots.draw(results, folder).forEach(line.getOut()::println);
        line.getOut().flush();
        return Main.EXIT_GOOD;
    }
}
