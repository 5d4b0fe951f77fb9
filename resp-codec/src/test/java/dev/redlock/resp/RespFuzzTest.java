package dev.redlock.resp;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.util.Arrays;
import java.util.Random;

/**
 * Coverage-guided fuzzing against the oracle. By default the checked-in inputs run as a regression test. With
 * {@code JAZZER_FUZZ=1} in the environment Jazzer searches for new inputs, one fuzz test for each run. The commands and
 * the results are in {@code docs/internals/codec.md}.
 */
class RespFuzzTest {
    /** The input is wire bytes. They also determine the seed of the splits. */
    @FuzzTest(maxDuration = "4m")
    void agreesWithOracle(byte[] input) {
        OracleComparison.check(input, OracleComparison.TIGHT,
                new Random(Arrays.hashCode(input)));
    }

    /** The first byte is the seed of the splits, so that the fuzzer searches them too; the rest is wire bytes. */
    @FuzzTest(maxDuration = "4m")
    void agreesWithOracleForAnySplit(byte[] input) {
        if (input.length == 0) {
            return;
        }
        byte[] wire = Arrays.copyOfRange(input, 1, input.length);
        OracleComparison.check(wire, RespLimits.defaults(), new Random(input[0]));
        OracleComparison.checkRequests(wire, new Random(input[0]));
    }
}
