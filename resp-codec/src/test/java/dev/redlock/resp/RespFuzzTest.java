package dev.redlock.resp;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.util.Arrays;
import java.util.Random;

/**
 * Coverage-guided fuzzing against the oracle. Without further ado the checked-in inputs run as a regression test; with
 * {@code JAZZER_FUZZ=1} in the environment Jazzer searches for new ones, one target for each run. How to run it, and
 * what it found, is in {@code docs/internals/codec.md}.
 */
class RespFuzzTest {
    /** Plain wire bytes, cut by a generator whose seed depends on them. */
    @FuzzTest(maxDuration = "4m")
    void parsesAsTheOracle(byte[] input) {
        Differential.check(input, Differential.TIGHT,
                new Random(Arrays.hashCode(input)));
    }

    /** The first byte chooses the cuts, so that the fuzzer can look for bad ones; requests are parsed as well. */
    @FuzzTest(maxDuration = "4m")
    void handlesAnyCut(byte[] input) {
        if (input.length == 0) {
            return;
        }
        byte[] wire = Arrays.copyOfRange(input, 1, input.length);
        Differential.check(wire, RespLimits.defaults(), new Random(input[0]));
        Differential.checkRequests(wire, new Random(input[0]));
    }
}
