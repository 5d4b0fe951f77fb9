package dev.redlock.loadtest.result;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogWriter;

/**
 * The interval log of one series: a {@code .hlog} for each operation, opened at its first interval.
 *
 * @threading caller-confined
 */
final class HistogramFiles implements IntervalLog {
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
                .outputIntervalHistogram(startSeconds, startSeconds + interval.lengthMs() / 1e3, histogram, NS_PER_MS);
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
