package dev.redlock.loadtest.result;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogWriter;

/**
 * The folder with the results of a run:
 *
 * <ul>
 * <li>{@code results.json}: everything ({@link ResultJson} lists the fields)
 * <li>{@code series.csv}: one line for each series
 * <li>{@code SERIES-OPERATION.hgrm}: percentile distribution, microseconds
 * <li>{@code SERIES-OPERATION.hlog}: histograms over time, written while the run goes
 * <li>{@code report.html}
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

    private RunFolder(Path folder, Instant startedAt) {
        this.folder = folder;
        this.startedAt = startedAt;
    }

    /**
     * Creates a folder for one run. Fails if it cannot be created or is not empty.
     *
     * @param given an empty folder, or one to create; null for a new one under {@link #PARENT_DEFAULT}
     */
    public static RunFolder open(Path given, String command, Instant startedAt) throws IOException {
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
        return new RunFolder(folder, startedAt);
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

    public Path path() {
        return folder;
    }

    /** The start of the run, the zero of every offset. */
    public Instant startedAt() {
        return startedAt;
    }

    public IntervalLog log(SeriesSpec spec) {
        return new HistogramFiles(folder, spec, startedAt);
    }

    /** Opens the interval logs of a series in a folder that another process has opened. */
    public static IntervalLog logInto(Path folder, Instant startedAt, SeriesSpec spec) {
        return new HistogramFiles(folder, spec, startedAt);
    }

    /** The path, without FAIL, of a file that the command writes during the run. */
    public Path file(String name) {
        return folder.resolve(name);
    }

    /** Writes a percentile distribution in microseconds during the run; the name is without FAIL. */
    public void writeDistribution(String name, Histogram histogram) throws IOException {
        HistogramFiles.writeDistribution(file(name), histogram);
    }

    /** Removes the files of a run that did not finish, and the folder if it is then empty. */
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

    /** Writes the other files, after the logs have been closed, and returns that of the JSON. */
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
        return Files.writeString(file("results.json", verdict), ResultJson.text(result));
    }

    public Path file(String name, Verdict verdict) {
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

    /**
     * The interval log of one series: a {@code .hlog} for each operation, opened at its first interval.
     *
     * @threading caller-confined
     */
    private static final class HistogramFiles implements IntervalLog {
        private static final double NS_PER_MS = 1e6;
        private static final double NS_PER_US = 1e3;
        private static final int HGRM_TICKS_PER_HALVING = 5;

        private final Path folder;
        private final SeriesSpec spec;
        private final Instant startedAt;
        private final Map<String, HistogramLogWriter> writers = new LinkedHashMap<>();

        HistogramFiles(Path folder, SeriesSpec spec, Instant startedAt) {
            this.folder = folder;
            this.spec = spec;
            this.startedAt = startedAt;
        }

        @Override
        public void append(String operation, Interval interval, Histogram histogram) {
            double startSeconds = interval.offsetMs() / 1e3;
            writers.computeIfAbsent(operation, this::open)
                    .outputIntervalHistogram(startSeconds, startSeconds + interval.lengthMs() / 1e3, histogram,
                            NS_PER_MS);
        }

        private HistogramLogWriter open(String operation) {
            Path file = folder.resolve(spec.fileStem() + "-" + operation + ".hlog");
            try {
                HistogramLogWriter writer = new HistogramLogWriter(file.toFile());
                writer.outputComment(
                        "[" + spec.title() + ", " + operation + ", " + spec.loop().name().toLowerCase(Locale.ROOT)
                                + " loop; values are nanoseconds, the column of maxima is milliseconds]");
                writer.outputLogFormatVersion();
                writer.outputStartTime(startedAt.toEpochMilli());
                writer.setBaseTime(startedAt.toEpochMilli());
                writer.outputLegend();
                return writer;
            } catch (FileNotFoundException e) {
                throw new UncheckedIOException("cannot write " + file, e);
            }
        }

        @Override
        public void close() {
            writers.values().forEach(HistogramLogWriter::close);
            writers.clear();
        }

        /** The percentile distribution in microseconds, as HdrHistogram's own plotter reads it. */
        static void writeDistribution(Path file, Histogram histogram) throws IOException {
            try (PrintStream out = new PrintStream(file.toFile(), StandardCharsets.UTF_8)) {
                histogram.outputPercentileDistribution(out, HGRM_TICKS_PER_HALVING, NS_PER_US);
                if (out.checkError()) {
                    throw new IOException("cannot write " + file);
                }
            }
        }
    }

    /**
     * A run as comma-separated values: one line of names, one line for each series. Columns that only some series have
     * are empty in the others. The names are those of {@link ResultJson}, joined with dots.
     *
     * @threading immutable
     */
    private static final class ResultCsv {
        static String text(RunResult result) {
            List<Map<String, Object>> rows = result.series().stream().map(ResultCsv::row).toList();
            Set<String> columns = new LinkedHashSet<>();
            rows.forEach(row -> columns.addAll(row.keySet()));
            List<String> lines = new ArrayList<>();
            lines.add(String.join(",", columns));
            for (Map<String, Object> row : rows) {
                lines.add(columns.stream().map(column -> cell(row.get(column))).collect(Collectors.joining(",")));
            }
            return String.join("\n", lines) + "\n";
        }

        private static Map<String, Object> row(SeriesResult one) {
            Map<String, Object> row = new LinkedHashMap<>();
            SeriesSpec spec = one.spec();
            row.put("driver", spec.driver());
            row.put("nodes", spec.nodes());
            row.put("loop", spec.loop());
            row.put("inFlight", spec.inFlight());
            row.put("ratePerSecond", spec.ratePerSecond());
            row.put("repetition", spec.repetition());
            row.put("verdict", one.verdict());
            row.put("recordedMs", one.span().recordedMs());
            row.put("cycles", one.tally().cycles());
            row.put("cyclesPerSecond", one.tally().cyclesPerSecond());
            one.operations()
                    .forEach((operation, latencies) -> ResultJson.summary(latencies.histogram())
                            .forEach((name, value) -> row.put(operation + "." + name, value)));
            row.put("cpuUsPerCycle", one.cost().cpuUsPerCycle());
            row.put("allocatedBytesPerCycle", one.cost().allocatedBytesPerCycle());
            one.tally().acquires().forEach((outcome, count) -> row.put("acquires." + outcome, count));
            one.tally().releases().forEach((outcome, count) -> row.put("releases." + outcome, count));
            row.put("holdings", one.tally().holdings());
            row.put("overlaps", one.tally().overlaps());
            one.figures().forEach((name, value) -> row.put("figures." + name, value));
            row.put("failures", String.join("; ", one.failures()));
            return row;
        }

        private static String cell(Object value) {
            if (value == null) {
                return "";
            }
            String text = value instanceof Double number
                    ? String.format(Locale.ROOT, "%.3f", number)
                    : value.toString();
            boolean isPlain = text.chars().noneMatch(c -> c == ',' || c == '"' || c == '\n' || c == '\r');
            return isPlain ? text : '"' + text.replace("\"", "\"\"") + '"';
        }
    }
}
