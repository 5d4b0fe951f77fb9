package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.contract.ScriptContract;
import dev.redlock.mutants.Mutant;
import dev.redlock.mutants.ScriptMutations;
import dev.redlock.mutants.ScriptMutations.Mutation;
import dev.redlock.sim.ScriptNames;
import dev.redlock.trial.nodes.Source;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** The cases of the script contract on real servers: right scripts pass, and each wrong one is found. */
class ScriptContractOnNodesTest {

    @Nested
    class OnAServerFromThePath extends OnARealNode {
        OnAServerFromThePath() {
            super(Source.PATH);
        }

        /** It takes some minutes. */
        @Test
        @Tag("release")
        void everyMutationIsFound() {
            assertEquals(List.of(), bench().survivors(ScriptMutations.all().stream()));
        }
    }

    @Nested
    class OnAnEmbeddedServer extends OnARealNode {
        OnAnEmbeddedServer() {
            super(Source.EMBEDDED);
        }
    }

    /** Starts one server for all cases. */
    @TestInstance(TestInstance.Lifecycle.PER_CLASS)
    abstract static class OnARealNode {
        /** A part of all mutations for each build. */
        private static final int STEP = 47;

        private final Source source;
        private ScriptBench bench;

        OnARealNode(Source source) {
            this.source = source;
        }

        ScriptBench bench() {
            return bench;
        }

        @BeforeAll
        void startNode() {
            bench = new ScriptBench(source);
        }

        @AfterAll
        void stopNode() {
            if (bench != null) {
                bench.close();
            }
        }

        @Test
        void everyScriptDoesWhatItsCommentSays() {
            for (String script : ScriptContract.scripts()) {
                bench.check(script, ScriptNames.source(script));
            }
        }

        @Test
        void everyMutantIsFound() throws IOException {
            List<String> survivors = new ArrayList<>();
            for (Mutant mutant : Mutant.list("script-mutants.txt")) {
                String script = mutant.killedBy().get(0);
                if (mutant.isOfScript() && !bench.isFound(script, mutant.applyTo(ScriptNames.source(script)))) {
                    survivors.add(mutant.name());
                }
            }
            assertEquals(List.of(), survivors);
        }

        @Test
        void someMutationsAreFound() {
            List<Mutation> all = ScriptMutations.all();
            assertEquals(List.of(), bench.survivors(IntStream.range(0, all.size() / STEP)
                    .mapToObj(i -> all.get(i * STEP))));
        }
    }
}
