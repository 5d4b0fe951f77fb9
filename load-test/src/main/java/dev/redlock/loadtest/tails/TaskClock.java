package dev.redlock.loadtest.tails;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Reads for how long one thread of Linux has run, and has waited for a core while it could run: the first two numbers
 * of its {@code schedstat} in {@code /proc}, nanoseconds. A reading allocates nothing.
 *
 * @threading caller-confined
 */
final class TaskClock implements AutoCloseable {
    private static final int LENGTH_MAX = 128;
    /** The kernel cuts the names of threads after so many bytes. */
    private static final int NAME_LENGTH_MAX = 15;

    private final RandomAccessFile file;
    private final byte[] text = new byte[LENGTH_MAX];
    private long ranNs;
    private long waitedNs;
    private int position;

    private TaskClock(Path schedstat) throws IOException {
        this.file = new RandomAccessFile(schedstat.toFile(), "r");
        read();
    }

    /** Whether this machine counts these times. */
    static boolean isAvailable() {
        return Files.isReadable(Path.of("/proc/self/schedstat"));
    }

    /** The thread that calls this. */
    static TaskClock ofThisThread() throws IOException {
        return new TaskClock(Path.of("/proc/thread-self/schedstat"));
    }

    /** The main thread of a process. */
    static TaskClock ofProcess(long pid) throws IOException {
        return new TaskClock(Path.of("/proc/" + pid + "/task/" + pid + "/schedstat"));
    }

    /** The threads of the kernel that process packets which no other thread does; empty where they cannot be seen. */
    static List<TaskClock> ofKernelNetwork() throws IOException {
        List<TaskClock> clocks = new ArrayList<>();
        try (Stream<Path> processes = Files.list(Path.of("/proc"))) {
            for (Path process : processes.filter(one -> one.getFileName().toString().matches("\\d+")).toList()) {
                if (comm(process).startsWith("ksoftirqd/")) {
                    clocks.add(new TaskClock(process.resolve("schedstat")));
                }
            }
        }
        return clocks;
    }

    private static String comm(Path task) {
        try {
            return Files.readString(task.resolve("comm"), StandardCharsets.UTF_8);
        } catch (IOException e) {
            // It has ended.
            return "";
        }
    }

    /** The threads of this process whose name starts like this. */
    static List<TaskClock> ofThreads(String prefix) throws IOException {
        String start = prefix.substring(0, Math.min(prefix.length(), NAME_LENGTH_MAX));
        List<TaskClock> clocks = new ArrayList<>();
        try (Stream<Path> tasks = Files.list(Path.of("/proc/self/task"))) {
            for (Path task : tasks.toList()) {
                if (comm(task).startsWith(start)) {
                    clocks.add(new TaskClock(task.resolve("schedstat")));
                }
            }
        }
        return clocks;
    }

    /** Takes a reading. A thread that has ended keeps its last one. */
    void read() {
        try {
            file.seek(0);
            if (file.read(text) > 0) {
                position = 0;
                ranNs = number();
                waitedNs = number();
            }
        } catch (IOException e) {
            // The thread has ended.
        }
    }

    private long number() {
        long value = 0;
        while (text[position] >= '0' && text[position] <= '9') {
            value = value * 10 + text[position++] - '0';
        }
        position++;
        return value;
    }

    /** The time on a core at the last reading. */
    long ranNs() {
        return ranNs;
    }

    /** The time without a core, ready to run, at the last reading. */
    long waitedNs() {
        return waitedNs;
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
