package dev.redlock.loadtest;

import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;

/**
 * A bar that moves with time and names the phase.
 *
 * @threading caller-confined
 */
final class BarProgress implements Progress {
    private final ProgressBar bar;

    BarProgress(long totalMs) {
        bar = new ProgressBarBuilder().setTaskName("load-test")
                .setInitialMax(totalMs / 1000)
                .setUnit(" s", 1)
                .setStyle(ProgressBarStyle.ASCII)
                .setUpdateIntervalMillis(250)
                .hideEta()
                .build();
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
    public void close() {
        bar.close();
    }
}
