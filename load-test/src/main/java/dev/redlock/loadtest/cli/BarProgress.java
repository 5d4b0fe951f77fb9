package dev.redlock.loadtest.cli;

import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;

/** @threading caller-confined */
final class BarProgress implements Progress {
    /** What is left of the bar beside a long phase. */
    private static final int CELLS_MIN = 20;

    private final ProgressBar bar;

    BarProgress(long totalMs) {
        bar = new ProgressBarBuilder().setInitialMax(totalMs / 1000)
                .setRenderer((state, width) -> line(state.getCurrent(), state.getMax(), state.getExtraMessage(), width))
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

    @Override
    public void onPhase(String title) {
        bar.setExtraMessage(title);
    }

    @Override
    public void onElapsed(long elapsedMs) {
        bar.stepTo(Math.min(bar.getMax(), elapsedMs / 1000));
    }

    @Override
    public void onNews(String line) {
        bar.setExtraMessage(line);
    }

    @Override
    public void close() {
        bar.close();
    }
}
