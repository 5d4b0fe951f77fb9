package dev.redlock.resp;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Coverage-guided fuzzing against the oracle. In every build, the named inputs and those that earlier searches kept run
 * as regression tests. {@link FuzzMain} searches for new ones. The command is in
 * {@code docs/internals/codec.md}.
 */
class RespFuzzTest {
    /** The input is wire bytes. They also determine the seed of the splits. */
    @FuzzTest(maxDuration = "48h")
    void agreesWithOracle(byte[] input) {
        OracleComparison.check(input, OracleComparison.TIGHT,
                new Random(Arrays.hashCode(input)));
    }

    /** The first byte is the seed of the splits, so that the fuzzer searches them too; the rest is wire bytes. */
    @FuzzTest(maxDuration = "48h")
    void agreesWithOracleForAnySplit(byte[] input) {
        if (input.length == 0) {
            return;
        }
        byte[] wire = Arrays.copyOfRange(input, 1, input.length);
        OracleComparison.check(wire, RespLimits.defaults(), new Random(input[0]));
        OracleComparison.checkRequests(wire, new Random(input[0]));
    }

    /** The inputs of earlier searches. */
    @ParameterizedTest
    @ValueSource(strings = {"agreesWithOracle", "agreesWithOracleForAnySplit"})
    void keptInputsAgreeWithOracle(String fuzzTest) throws IOException {
        List<byte[]> inputs = FuzzCorpus.read(FuzzCorpus.file(Path.of(""), fuzzTest));
        assertTrue(inputs.size() > 100, () -> inputs.size() + " inputs");
        for (byte[] input : inputs) {
            if (fuzzTest.equals("agreesWithOracle")) {
                agreesWithOracle(input);
            } else {
                agreesWithOracleForAnySplit(input);
            }
        }
    }
}
