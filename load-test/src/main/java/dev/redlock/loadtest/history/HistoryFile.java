package dev.redlock.loadtest.history;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
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
    private static final String HEADER = COMMENT + " redlock history 1: "
            + "time process type operation resources kind token until outcome\n";

    private final FileChannel channel;

    private HistoryFile(FileChannel channel) {
        this.channel = channel;
    }

    /**
     * Creates a file without operations.
     *
     * @param file the file, which must not exist
     * @throws IOException if the file exists or cannot be written
     */
    public static void create(Path file) throws IOException {
        Files.writeString(file, HEADER, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    }

    /**
     * Opens a file that was created before.
     *
     * @param file the file
     * @return the open file
     * @throws IOException if the file cannot be written
     */
    public static HistoryFile append(Path file) throws IOException {
        return new HistoryFile(FileChannel.open(file, StandardOpenOption.APPEND));
    }

    /**
     * Appends one line.
     *
     * @param line the line
     * @throws IOException if the line cannot be written as a whole
     */
    public void write(HistoryLine line) throws IOException {
        ByteBuffer bytes = StandardCharsets.UTF_8.encode(line + "\n");
        int length = bytes.remaining();
        int written = channel.write(bytes);
        if (written != length) {
            throw new IOException("only " + written + " of " + length + " bytes of a line were written");
        }
    }

    /**
     * Appends an end of unknown outcome for each operation that has none, because its process was killed.
     *
     * @param file   the file, to which no process writes any more
     * @param timeNs the time of these ends
     * @return the number of lines of the file
     * @throws IOException if the file cannot be read or written
     */
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
     * @param file the file
     * @return the lines in the order of the file, to be closed
     * @throws IOException if the file cannot be opened
     */
    public static Stream<HistoryLine> lines(Path file) throws IOException {
        return Files.lines(file).filter(line -> !line.startsWith(COMMENT)).map(HistoryLine::parse);
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
