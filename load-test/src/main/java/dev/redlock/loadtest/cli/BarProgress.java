package dev.redlock.loadtest.cli;

import java.time.Duration;
import java.util.Optional;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import me.tongfei.progressbar.ProgressState;

/**
 * A progress bar that moves with time and shows the phase.
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
                .setEtaFunction(BarProgress::left)
                .build();
    }

    /** The bar moves with time, so the time left is known exactly. */
    private static Optional<Duration> left(ProgressState state) {
        return Optional.of(Duration.ofSeconds(state.getMax() - state.getCurrent()));
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
