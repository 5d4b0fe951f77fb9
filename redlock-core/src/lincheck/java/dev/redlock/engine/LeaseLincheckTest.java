package dev.redlock.engine;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Lincheck explores interleavings of threads that use one lease handle. */
class LeaseLincheckTest {

    private static final int RUNS = 50;

    @Test
    void randomCalls() {
        LeaseCalls.checkRandom(LeaseOperations.class, LeaseModel.class, 1, 12, RUNS);
    }

    @Test
    void randomPairsOfCalls() {
        LeaseCalls.checkRandom(LeaseOperations.class, LeaseModel.class, 2, 5, RUNS);
    }

    @Test
    void randomCallsWhileTheClientCloses() {
        LeaseCalls.checkRandom(ClosingOperations.class, ClosingOperations.Model.class, 1, 8, RUNS);
    }

    @Test
    void twoAcquires() {
        LeaseCalls.check(RUNS, List.of(), List.of("acquire"), List.of("acquire"));
    }

    @Test
    void closeDuringTheFirstAcquire() {
        LeaseCalls.check(RUNS, List.of(), List.of("acquire"), List.of("close"));
    }

    @Test
    void anExtensionAndARelease() {
        LeaseCalls.check(RUNS * 4, List.of("acquire"), List.of("extendWithCallback"), List.of("releaseWithCallback"));
    }

    @Test
    void aReleaseWhileTheLeaseIsReleasedAndReused() {
        LeaseCalls.check(RUNS, List.of("acquire"), List.of("release"), List.of("releaseWithCallback", "acquire"));
    }
}
