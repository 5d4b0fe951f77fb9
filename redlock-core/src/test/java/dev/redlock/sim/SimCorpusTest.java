package dev.redlock.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SimCorpusTest {

    @TempDir
    Path folder;

    private List<String> written(SimCorpus corpus) throws Exception {
        Path file = folder.resolve("seeds.txt");
        corpus.write(file);
        return Files.readAllLines(file);
    }

    @Test
    void keepsASeedWithSomethingNew() throws Exception {
        SimCorpus corpus = new SimCorpus();
        corpus.add(1, Set.of("a", "b"));
        corpus.add(2, Set.of("b"));
        corpus.add(3, Set.of("b", "c"));
        assertEquals(3, corpus.featureCount());
        assertEquals(List.of("1", "3"), written(corpus));
    }

    @Test
    void dropsASeedThatLaterOnesMakeUseless() throws Exception {
        SimCorpus corpus = new SimCorpus();
        corpus.add(1, Set.of("a"));
        corpus.add(2, Set.of("b"));
        corpus.add(3, Set.of("a", "b", "c"));
        assertEquals(3, corpus.keptCount());
        assertEquals(List.of("3"), written(corpus));
        assertEquals(3, corpus.featureCount(), "nothing that a run had is lost");
    }

    @Test
    void keepsASeedOnce() throws Exception {
        SimCorpus corpus = new SimCorpus();
        corpus.add(1, Set.of("a"));
        corpus.add(1, Set.of("a", "b"));
        corpus.add(2, Set.of("a"));
        assertEquals(List.of("1"), written(corpus));
    }

    @Test
    void aSeedHasTheSameFeaturesAgainAndAnotherSeedHasOthers() {
        Set<String> features = SimFeatures.ofRun(new Simulation(SimPlan.of(1)));
        assertEquals(features, SimFeatures.ofRun(new Simulation(SimPlan.of(1))));
        assertNotEquals(features, SimFeatures.ofRun(new Simulation(SimPlan.of(2))));
    }
}
