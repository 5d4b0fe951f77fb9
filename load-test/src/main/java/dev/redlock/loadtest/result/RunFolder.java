package dev.redlock.loadtest.result;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The folder with the results of a run:
 *
 * <ul>
 * <li>{@code results.json}: everything ({@link ResultJson} lists the fields)
 * <li>{@code series.csv}: one line for each series
 * <li>{@code SERIES-OPERATION.hgrm}: percentile distribution, microseconds
 * <li>{@code SERIES-OPERATION.hlog}: histograms over time, written while the run goes
 * <li>the files of {@link ReportWriter}s
 * </ul>
 *
 * <p>If the run failed, every name has FAIL before its extension, so that nobody quotes its figures by accident.
 *
 * @threading caller-confined
 */
public final class RunFolder {
    /** The default parent of run folders, under the working folder. */
    public static final Path PARENT_DEFAULT = Path.of("load-test-results");

    private static final DateTimeFormatter STAMP = DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss", Locale.ROOT)
            .withZone(ZoneOffset.UTC);
    private static final String FAIL = "-FAIL";

    private final Path folder;
    private final Instant startedAt;
    private final List<ReportWriter> reports;

    private RunFolder(Path folder, Instant startedAt, List<ReportWriter> reports) {
        this.folder = folder;
        this.startedAt = startedAt;
        this.reports = List.copyOf(reports);
    }

    /**
     * Creates a folder for one run.
     *
     * @param given     an empty folder, or one to create; null for a new one under {@link #PARENT_DEFAULT}
     * @param command   the prefix of the name of a new folder
     * @param startedAt when the run started
     * @param reports   the writers of reports at the end
     * @return an empty folder
     * @throws IOException if it cannot be created or is not empty
     */
    public static RunFolder open(Path given, String command, Instant startedAt, List<ReportWriter> reports)
            throws IOException {
        Path folder = given == null ? fresh(command + "-" + STAMP.format(startedAt)) : given;
        if (Files.exists(folder) && !isEmptyFolder(folder)) {
            throw new IOException(folder + " is not an empty folder: name an empty or missing one");
        }
        try {
            Files.createDirectories(folder);
        } catch (IOException e) {
            throw new IOException("cannot create the folder " + folder + " for the results: " + e.getMessage()
                    + "; name another with --output", e);
        }
        if (!Files.isWritable(folder)) {
            throw new IOException("cannot write into " + folder + ": name another folder with --output");
        }
        return new RunFolder(folder, startedAt, reports);
    }

    private static Path fresh(String name) {
        Path folder = PARENT_DEFAULT.resolve(name);
        for (int i = 2; Files.exists(folder); i++) {
            folder = PARENT_DEFAULT.resolve(name + "-" + i);
        }
        return folder;
    }

    private static boolean isEmptyFolder(Path folder) throws IOException {
        if (!Files.isDirectory(folder)) {
            return false;
        }
        try (Stream<Path> files = Files.list(folder)) {
            return files.findAny().isEmpty();
        }
    }

    /**
     * Its path.
     *
     * @return the folder
     */
    public Path path() {
        return folder;
    }

    /**
     * The start of the run, the zero of every offset.
     *
     * @return the moment
     */
    public Instant startedAt() {
        return startedAt;
    }

    /**
     * Opens the interval logs of a series.
     *
     * @param spec the series
     * @return to be closed when the series ends
     */
    public IntervalLog log(SeriesSpec spec) {
        return new HistogramFiles(folder, spec, startedAt);
    }

    /**
     * Opens the interval logs of a series in a folder that another process has opened.
     *
     * @param folder    {@link #path} of that process
     * @param startedAt {@link #startedAt} of that process
     * @param spec      the series
     * @return to be closed when the series ends
     */
    public static IntervalLog logInto(Path folder, Instant startedAt, SeriesSpec spec) {
        return new HistogramFiles(folder, spec, startedAt);
    }

    /**
     * Opens a file for the command to write during the run.
     *
     * @param name without FAIL
     * @return its path; the file does not exist yet
     */
    public Path file(String name) {
        return folder.resolve(name);
    }

    /**
     * Removes the files of a run that did not finish, and the folder if it is then empty.
     *
     * @throws IOException if it cannot be removed
     */
    public void abandon() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Files.delete(file);
            }
        }
        deleteIfEmpty(folder);
        if (PARENT_DEFAULT.equals(folder.getParent())) {
            deleteIfEmpty(PARENT_DEFAULT);
        }
    }

    private static void deleteIfEmpty(Path path) throws IOException {
        if (isEmptyFolder(path)) {
            Files.delete(path);
        }
    }

    /**
     * Writes the other files. Every {@link IntervalLog} has been closed.
     *
     * @param result the whole run
     * @return the file to show to people: the first report, or the JSON if there is none
     * @throws IOException if a file cannot be written
     */
    public Path finish(RunResult result) throws IOException {
        Verdict verdict = result.verdict();
        if (verdict == Verdict.FAIL) {
            markAll();
        }
        for (SeriesResult series : result.series()) {
            for (Map.Entry<String, OperationResult> operation : series.operations().entrySet()) {
                String name = series.spec().fileStem() + "-" + operation.getKey() + ".hgrm";
                HistogramFiles.writeDistribution(file(name, verdict), operation.getValue().histogram());
            }
        }
        Files.writeString(file("series.csv", verdict), ResultCsv.text(result));
        Path first = file("results.json", verdict);
        Files.writeString(first, ResultJson.text(result));
        for (ReportWriter report : reports) {
            report.write(result, file(report.fileName(), verdict));
        }
        return reports.isEmpty() ? first : file(reports.get(0).fileName(), verdict);
    }

    private Path file(String name, Verdict verdict) {
        return folder.resolve(verdict == Verdict.FAIL ? marked(name) : name);
    }

    private void markAll() throws IOException {
        List<Path> written;
        try (Stream<Path> files = Files.list(folder)) {
            written = new ArrayList<>(files.filter(Files::isRegularFile).toList());
        }
        for (Path file : written) {
            Files.move(file, file.resolveSibling(marked(file.getFileName().toString())));
        }
    }

    /** Inserts FAIL before the extension. */
    static String marked(String name) {
        int dot = name.lastIndexOf('.');
        return dot < 0 ? name + FAIL : name.substring(0, dot) + FAIL + name.substring(dot);
    }
}
