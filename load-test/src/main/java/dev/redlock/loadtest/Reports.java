package dev.redlock.loadtest;

import dev.redlock.loadtest.report.HtmlReport;
import dev.redlock.loadtest.result.ReportWriter;
import dev.redlock.loadtest.result.RunFolder;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import picocli.CommandLine;

/**
 * What is made of every run beside the machine-readable files. The first one is shown to the user.
 *
 * @threading immutable
 */
public final class Reports {
    static final List<ReportWriter> WRITERS = List.of(new HtmlReport());

    private Reports() {
    }

    /**
     * Makes the folder of a run, before anything else is done.
     *
     * @param line      the command, whose name begins the name of a new folder
     * @param output    what the user has named; null for a new folder
     * @param startedAt when the run started
     * @return an empty folder
     * @throws CommandLine.ParameterException if that cannot be
     */
    public static RunFolder open(CommandLine line, Path output, Instant startedAt) {
        try {
            return RunFolder.open(output, line.getCommandName(), startedAt, WRITERS);
        } catch (IOException e) {
            throw new CommandLine.ParameterException(line, "--output: " + e.getMessage());
        }
    }
}
