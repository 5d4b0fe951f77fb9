package dev.redlock.loadtest.chaos;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * One register for each resource, in memory that all worker processes share. Its value is the greatest fencing token
 * that was written to it. It rejects a lower one. A process that is paused or killed within a call blocks no other.
 *
 * @threading any thread
 */
final class SharedRegisters {
    private static final VarHandle LONGS = MethodHandles.byteBufferViewVarHandle(long[].class,
            ByteOrder.nativeOrder());

    private final MappedByteBuffer values;

    private SharedRegisters(MappedByteBuffer values) {
        this.values = values;
    }

    /** Creates the file with registers of value 0. */
    static void create(Path file, int count) throws IOException {
        Files.write(file, new byte[count * Long.BYTES], StandardOpenOption.CREATE_NEW);
    }

    static SharedRegisters open(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            return new SharedRegisters(channel.map(FileChannel.MapMode.READ_WRITE, 0, channel.size()));
        }
    }

    long read(int resource) {
        return (long) LONGS.getVolatile(values, resource * Long.BYTES);
    }

    /** Compares and writes in one step; false if the register has a greater token. */
    boolean write(int resource, long token) {
        long now = read(resource);
        while (token >= now) {
            if (LONGS.compareAndSet(values, resource * Long.BYTES, now, token)) {
                return true;
            }
            now = read(resource);
        }
        return false;
    }
}
