package dev.redlock.loadtest.history;

import dev.redlock.cli.ExitCodes;
import dev.redlock.cli.Options;
import dev.redlock.loadtest.cli.BuildVersion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** @threading caller-confined */
@Command(name = "history", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        description = "Exports the history of chaos --history as EDN, which Knossos and checkers like Porcupine read: "
                + "for each resource one file for a mutex, and one for a register if its locks have fencing tokens.",
        footer = {"  load-test history FILE", "  load-test history FILE --output FOLDER"})
public final class HistoryCommand implements Callable<Integer> {
    @Parameters(paramLabel = "FILE", description = "The history of a run.")
    private Path history;

    @Option(names = "--output", paramLabel = "FOLDER", description = "Folder for the files (default: FILE-edn).")
    private Path output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        CommandLine line = spec.commandLine();
        Options.require(line, Files.isRegularFile(history) && Files.isReadable(history),
                history + " cannot be read: expected a file of chaos --history");
        Options.require(line, HistoryFile.isHistory(history),
                history + " is no history: expected a file of chaos --history");
        Path folder = output == null ? history.resolveSibling(history.getFileName() + "-edn") : output;
        Files.createDirectories(folder);
        SortedSet<String> resources = new TreeSet<>();
        try (Stream<HistoryLine> lines = HistoryFile.lines(history)) {
            lines.forEach(each -> resources.addAll(each.resources()));
        }
        for (String resource : resources) {
            for (EdnHistory.Model model : EdnHistory.Model.values()) {
                EdnHistory exported = EdnHistory.read(history, resource, model);
                if (!exported.isEmpty()) {
                    Path file = folder.resolve(name(resource, model));
                    exported.write(file);
                    line.getOut().println(file);
                }
            }
        }
        line.getOut().flush();
        return ExitCodes.GOOD;
    }

    private static String name(String resource, EdnHistory.Model model) {
        return resource.replaceAll("[^A-Za-z0-9]+", "-") + "-" + model.name().toLowerCase(Locale.ROOT) + ".edn";
    }
}
