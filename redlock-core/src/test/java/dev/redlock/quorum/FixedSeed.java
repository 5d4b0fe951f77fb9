package dev.redlock.quorum;

import java.security.SecureRandom;
import java.util.SplittableRandom;

/** A seed source that returns the same bytes each time, and counts its calls. */
final class FixedSeed extends SecureRandom {

    private static final long serialVersionUID = 1;

    private final transient SplittableRandom random;
    private int draws;

    FixedSeed(long seed) {
        this.random = new SplittableRandom(seed);
    }

    @Override
    public void nextBytes(byte[] bytes) {
        draws++;
        random.nextBytes(bytes);
    }

    int draws() {
        return draws;
    }
}
