package dev.redlock.loadtest.chaos;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * The shared file to which every process appends its records. It is opened for appending, and each record is one write
 * of a fixed size. So records of several processes never mix, and a killed process leaves whole records.
 *
 * <p>Times are {@link System#nanoTime()}, which on Linux is CLOCK_MONOTONIC: one clock for all processes of the
 * machine, not touched by steps of the wall clock. On a system where each JVM has a clock of its own, the audit has no
 * meaning.
 *
 * @threading any thread
 */
final class SectionFile implements AutoCloseable {
    private static final int READ_RECORDS = 4096;

    private final FileChannel channel;

    private SectionFile(FileChannel channel) {
        this.channel = channel;
    }

    static SectionFile append(Path file) throws IOException {
        return new SectionFile(FileChannel.open(file, StandardOpenOption.APPEND));
    }

    void write(SectionRecord record) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(SectionRecord.BYTES);
        record.write(bytes);
        int written = channel.write(bytes.flip());
        if (written != SectionRecord.BYTES) {
            throw new IOException("only " + written + " bytes of a record were written");
        }
    }

    static List<SectionRecord> readAll(Path file) throws IOException {
        return readFrom(file, 0);
    }

    /** Reads the records from a byte position on, possibly with records written meanwhile. */
    static List<SectionRecord> readFrom(Path file, long position) throws IOException {
        List<SectionRecord> records = new ArrayList<>();
        try (FileChannel in = FileChannel.open(file, StandardOpenOption.READ)) {
            in.position(position);
            ByteBuffer bytes = ByteBuffer.allocate(READ_RECORDS * SectionRecord.BYTES);
            while (in.read(bytes) >= 0) {
                bytes.flip();
                while (bytes.remaining() >= SectionRecord.BYTES) {
                    records.add(SectionRecord.read(bytes));
                }
                bytes.compact();
            }
            if (bytes.position() != 0) {
                throw new IllegalStateException("the evidence ends in the middle of a record");
            }
        }
        return records;
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
