package dev.redlock.time;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The clock of the JVM, and the time for which Linux was suspended: its time since the boot goes on in a suspend, and
 * the monotonic clock does not. No time service sets either of them.
 *
 * @threading any thread
 */
final class SystemClock implements NanoClock {

    static final SystemClock INSTANCE = new SystemClock(Path.of("/proc/uptime"));

    private static final int TRIES = 3;
    /** Longer between the two reads of the clock, and the thread was stopped. */
    private static final long READ_NS_MAX = SLEPT_ERROR_NS - SLEPT_UNIT_NS;

    private final Path uptime;

    SystemClock(Path uptime) {
        this.uptime = uptime;
    }

    @Override
    public long nanoTime() {
        return System.nanoTime();
    }

    @Override
    public long sleptNs() {
        try {
            for (int i = 0; i < TRIES; i++) {
                long beforeNs = System.nanoTime();
                byte[] text = Files.readAllBytes(uptime);
                if (System.nanoTime() - beforeNs <= READ_NS_MAX) {
                    return uptimeNs(new String(text, StandardCharsets.ISO_8859_1)) - beforeNs;
                }
            }
        } catch (IOException | RuntimeException | Error e) {
            // Another system, or a thread that must not read files: it is not known.
        }
        return UNKNOWN;
    }

    /** The first number has two decimals. */
    static long uptimeNs(String text) {
        String seconds = text.substring(0, text.indexOf(' '));
        int point = seconds.indexOf('.');
        if (seconds.length() - point != 3) {
            throw new NumberFormatException(seconds);
        }
        return (Long.parseLong(seconds.substring(0, point)) * 100 + Integer.parseInt(seconds.substring(point + 1)))
                * SLEPT_UNIT_NS;
    }
}
