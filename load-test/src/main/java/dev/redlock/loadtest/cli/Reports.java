package dev.redlock.loadtest.cli;

import dev.redlock.loadtest.report.HtmlReport;
import dev.redlock.loadtest.result.ReportWriter;
import dev.redlock.loadtest.result.RunFolder;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import picocli.CommandLine;

/**
 * The report writers of every run. The program prints the path of the first report.
 *
 * @threading immutable
 */
public final class Reports {
    static final List<ReportWriter> WRITERS = List.of(new HtmlReport());

    /**
     * Creates the folder of a run. Called first, so that a wrong folder fails the run at once.
     *
     * @param line      the command; a new folder is named after it
     * @param output    the folder given by the user; null for a new folder
     * @param startedAt when the run started
     * @return an empty folder
     * @throws CommandLine.ParameterException if the folder cannot be created or is not empty
     */
    public static RunFolder open(CommandLine line, Path output, Instant startedAt) {
        try {
            return RunFolder.open(output, line.getCommandName(), startedAt, WRITERS);
        } catch (IOException e) {
            throw new CommandLine.ParameterException(line, "--output: " + e.getMessage());
        }
    }
}
