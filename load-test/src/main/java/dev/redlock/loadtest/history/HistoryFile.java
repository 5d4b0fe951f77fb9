package dev.redlock.loadtest.history;

import dev.redlock.resp.SafeText;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The file to which every process of a run appends its lines. Each line is one write to a file that is opened for
 * appending. So lines of several processes never mix, and no process keeps a history in memory.
 *
 * @threading any thread
 */
public final class HistoryFile implements AutoCloseable {
    private static final String COMMENT = "#";
    private static final String FORMAT = COMMENT + " redlock history 1: ";
    private static final String HEADER = FORMAT
            + "time process type operation resources kind token until outcome\n";

    private static final int SHOWN_LENGTH_MAX = 200;

    private final FileChannel channel;

    private HistoryFile(FileChannel channel) {
        this.channel = channel;
    }

    /** Creates a file without operations; fails if it exists. */
    public static void create(Path file) throws IOException {
        Files.writeString(file, HEADER, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    }

    /** Opens a file that was created before. */
    public static HistoryFile append(Path file) throws IOException {
        return new HistoryFile(FileChannel.open(file, StandardOpenOption.APPEND));
    }

    /** Appends one line; fails if it cannot be written as a whole. */
    public void write(HistoryLine line) throws IOException {
        ByteBuffer bytes = StandardCharsets.UTF_8.encode(line + "\n");
        int length = bytes.remaining();
        int written = channel.write(bytes);
        if (written != length) {
            throw new IOException("only " + written + " of " + length + " bytes of a line were written");
        }
    }

    /** Appends an end of unknown outcome for each operation that has none, because its process was killed. */
    public static long complete(Path file, long timeNs) throws IOException {
        Map<Integer, HistoryLine> open = new TreeMap<>();
        long[] count = new long[1];
        try (Stream<HistoryLine> lines = lines(file)) {
            lines.forEach(line -> {
                count[0]++;
                if (line.isInvoke()) {
                    open.put(line.process(), line);
                } else {
                    open.remove(line.process());
                }
            });
        }
        try (HistoryFile out = append(file)) {
            for (HistoryLine line : open.values()) {
                out.write(new HistoryLine(timeNs, line.process(), HistoryLine.Type.INFO, line.operation(),
                        line.resources(), line.kind(), line.token(), 0, HistoryLine.NO_OUTCOME));
            }
        }
        return count[0] + open.size();
    }

    /**
     * Reads a file, one line at a time.
     *
     * @return the lines in the order of the file, to be closed
     * @throws IOException if the file cannot be opened; the stream throws {@link UncheckedIOException} for a line that
     *                     is no operation
     */
    public static Stream<HistoryLine> lines(Path file) throws IOException {
        BufferedReader reader = new BufferedReader(
                new InputStreamReader(Files.newInputStream(file), StandardCharsets.UTF_8));
        int[] number = new int[1];
        return reader.lines()
                .map(line -> parse(file, ++number[0], line))
                .filter(Objects::nonNull)
                .onClose(() -> close(reader));
    }

    private static HistoryLine parse(Path file, int number, String line) {
        try {
            return line.startsWith(COMMENT) ? null : HistoryLine.parse(line);
        } catch (IllegalArgumentException e) {
            throw new UncheckedIOException(new IOException(
                    file + ", line " + number + " is no operation: " + SafeText.of(line, SHOWN_LENGTH_MAX)));
        }
    }

    private static void close(BufferedReader reader) {
        try {
            reader.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Whether a file starts as one of {@link #create}. */
    static boolean isHistory(Path file) throws IOException {
        try (InputStream in = Files.newInputStream(file)) {
            byte[] start = FORMAT.getBytes(StandardCharsets.UTF_8);
            return Arrays.equals(in.readNBytes(start.length), start);
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
