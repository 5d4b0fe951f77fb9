package dev.redlock.sim;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The seeds that are kept because each run had something that the runs before it did not have. Every build runs them. A
 * change of the engine or of the simulator changes what a seed does, and the next search removes the seeds that have
 * become useless.
 */
final class SimCorpus {
    /** In the module's folder. */
    static final Path FILE = Path.of("src/test/resources/dev/redlock/sim/kept-seeds.txt");

    private final Map<Long, Set<String>> featuresOfKept = new LinkedHashMap<>();
    private final Map<String, Integer> seedsWith = new HashMap<>();

    static List<Long> read() throws IOException {
        return Files.readAllLines(FILE).stream().map(Long::valueOf).toList();
    }

    /** Writes the seeds that together have all features, without those that the seeds after them make useless. */
    void write(Path file) throws IOException {
        removeUseless();
        Files.write(file, featuresOfKept.keySet().stream().map(String::valueOf).toList());
    }

    /** Adds the features of a seed's run. Keeps the seed if one of them is new. */
    void add(long seed, Set<String> ofRun) {
        if (!featuresOfKept.containsKey(seed) && !seedsWith.keySet().containsAll(ofRun)) {
            featuresOfKept.put(seed, ofRun);
            ofRun.forEach(feature -> seedsWith.merge(feature, 1, Integer::sum));
        }
    }

    private void removeUseless() {
        featuresOfKept.values().removeIf(ofSeed -> {
            boolean isUseless = ofSeed.stream().allMatch(feature -> seedsWith.get(feature) > 1);
            if (isUseless) {
                ofSeed.forEach(feature -> seedsWith.merge(feature, -1, Integer::sum));
            }
            return isUseless;
        });
    }

    int keptCount() {
        return featuresOfKept.size();
    }

    int featureCount() {
        return seedsWith.size();
    }
}
