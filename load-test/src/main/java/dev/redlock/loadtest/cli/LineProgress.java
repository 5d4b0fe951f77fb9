package dev.redlock.loadtest.cli;

import java.io.PrintWriter;
import java.util.Locale;

/** @threading caller-confined */
final class LineProgress implements Progress {
    private final long totalMs;
    private final PrintWriter out;
    private long elapsedMs;

    LineProgress(long totalMs, PrintWriter out) {
        this.totalMs = totalMs;
        this.out = out;
    }

    @Override
    public void onPhase(String title) {
        out.printf(Locale.ROOT, "[%3d of %d s] %s%n", elapsedMs / 1000, totalMs / 1000, title).flush();
    }

    @Override
    public void onElapsed(long nowMs) {
        elapsedMs = nowMs;
    }

    @Override
    public void onNews(String line) {
        onPhase(line);
    }

    @Override
    public void close() {
        out.flush();
    }
}
