package dev.redlock.loadtest.cli;

import dev.redlock.loadtest.report.HtmlReport;
import dev.redlock.loadtest.result.RunFolder;
import dev.redlock.loadtest.result.RunResult;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import picocli.CommandLine;

/**
 * The folder of a run with its report.
 *
 * @threading immutable
 */
public final class Reports {
    /** Creates the folder of a run. Called first, so that a wrong folder fails the run at once. */
    public static RunFolder open(CommandLine line, Path output, Instant startedAt) {
        try {
            return RunFolder.open(output, line.getCommandName(), startedAt);
        } catch (IOException e) {
            throw new CommandLine.ParameterException(line, "--output: " + e.getMessage());
        }
    }

    /** Writes all files, and returns the report, to show it to people. */
    public static Path finish(RunFolder folder, RunResult result) throws IOException {
        folder.finish(result);
        return Files.writeString(folder.file("report.html", result.verdict()), HtmlReport.page(result));
    }
}
