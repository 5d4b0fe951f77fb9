package dev.redlock.loadtest.cli;

import dev.redlock.cli.Terminals;
import java.io.PrintWriter;
import java.util.Locale;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;

/**
 * Shows the progress of a program: on a terminal as a bar that moves with time and shows the phase, otherwise as one
 * line per phase. Both on standard error, so that standard output has the result only.
 *
 * @threading caller-confined
 */
public final class Progress implements AutoCloseable {
    /** What is left of the bar beside a long phase. */
    private static final int CELLS_MIN = 20;

    private final long totalMs;
    private final PrintWriter err;
    /** Null for lines. */
    private final ProgressBar bar;
    private long elapsedMs;

    public Progress(long totalMs, PrintWriter err) {
        this.totalMs = totalMs;
        this.err = err;
        this.bar = !Terminals.isInteractive()
                ? null
                : new ProgressBarBuilder().setInitialMax(totalMs / 1000)
                        .setRenderer((state, width) -> line(state.getCurrent(), state.getMax(),
                                state.getExtraMessage(), width))
                        .setUpdateIntervalMillis(250)
                        .build();
    }

    /** The bar takes what the phase leaves; a phase that would take too much of it is cut. */
    static String line(long nowS, long maxS, String phase, int width) {
        String time = "] " + nowS + " of " + maxS + " s  ";
        int room = Math.max(0, width - 1 - time.length() - CELLS_MIN);
        String words = phase.length() <= room ? phase : phase.substring(0, Math.max(0, room - 2)) + "..";
        int cells = Math.max(0, width - 1 - time.length() - words.length());
        int full = (int) (cells * Math.min(nowS, maxS) / Math.max(1, maxS));
        return "[" + "=".repeat(full) + " ".repeat(cells - full) + time + words;
    }

    /** The next phase starts, or an event of this phase has happened. */
    public void onPhase(String title) {
        if (bar == null) {
            err.printf(Locale.ROOT, "[%3d of %d s] %s%n", elapsedMs / 1000, totalMs / 1000, title).flush();
        } else {
            bar.setExtraMessage(title);
        }
    }

    /** Time has passed, since the start of the first phase. */
    public void onElapsed(long nowMs) {
        elapsedMs = nowMs;
        if (bar != null) {
            bar.stepTo(Math.min(bar.getMax(), nowMs / 1000));
        }
    }

    @Override
    public void close() {
        if (bar != null) {
            bar.close();
        }
    }
}
