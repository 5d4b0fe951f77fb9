package dev.redlock.loadtest.rig;

/** @threading caller-confined to the thread that runs the rig */
@FunctionalInterface
public interface LoadProgress {
    /** Time has passed since the start of the run, warm-up included. */
    void onProgress(long elapsedNs, boolean isMeasuring);
}
