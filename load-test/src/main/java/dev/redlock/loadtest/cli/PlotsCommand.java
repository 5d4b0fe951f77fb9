package dev.redlock.loadtest.cli;

import dev.redlock.cli.ExitCodes;
import dev.redlock.cli.Options;
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

/** @threading caller-confined */
@Command(name = "plots", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        description = "Draws PNG pictures for documents from the results.json of a run: latency against the number of "
                + "nodes, percentile curves, drivers side by side. (Charts of report.html can be saved as SVG.)",
        footer = {
            "  load-test plots load-test-results/compare-20260102-030405/results.json",
            "  load-test plots results.json --output docs/images"})
public final class PlotsCommand implements Callable<Integer> {
    @Parameters(paramLabel = "RESULTS", description = "A results.json.")
    private Path results;

    @Option(names = "--output", paramLabel = "FOLDER",
            description = "Folder for the pictures (default: plots, beside the results).")
    private Path output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        CommandLine line = spec.commandLine();
        Options.require(line, Files.isReadable(results), results + " cannot be read: expected a results.json of a run");
        Path folder = output == null ? results.resolveSibling("plots") : output;
        // Without this, AWT connects to the display if the machine has one.
        System.setProperty("java.awt.headless", "true");
        ResultPlots.draw(results, folder).forEach(line.getOut()::println);
        line.getOut().flush();
        return ExitCodes.GOOD;
    }
}
