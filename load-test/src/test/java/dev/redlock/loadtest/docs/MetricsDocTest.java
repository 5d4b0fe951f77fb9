package dev.redlock.loadtest.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.micrometer.RedlockMetrics;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The pages on telemetry and operations name the meters that exist, with their tags. */
class MetricsDocTest {

    private static final String PAGE = "docs/guides/telemetry.md";

    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(10)).tryOnce();

    /** The meters of a client whose locks have these groups. */
    private static SimpleMeterRegistry registryOfAClient(String... groups) {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        try (Redlock redlock = Redlock
                .connect(new RedlockContext().nodes("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"))) {
            for (String group : groups) {
                assertFalse(redlock.acquireAsync("a", OPTIONS.group(group)).toCompletableFuture().join().isAcquired());
            }
            new RedlockMetrics(redlock).bindTo(registry);
        }
        return registry;
    }

    private static Map<String, Set<String>> tagsByName() {
        Map<String, Set<String>> tags = new TreeMap<>();
        for (Meter meter : registryOfAClient("orders").getMeters()) {
            tags.computeIfAbsent(meter.getId().getName(), name -> new TreeSet<>())
                    .addAll(meter.getId().getTags().stream().map(Tag::getKey).collect(Collectors.toSet()));
        }
        return tags;
    }

    @Test
    void theTableHasEachMeterWithItsTags() throws IOException {
        Map<String, Set<String>> rows = new TreeMap<>();
        for (String line : DocPages.text(PAGE).split("\n## Micrometer\n")[1].split("\n## ")[0].split("\n")) {
            if (line.startsWith("| `redlock.")) {
                String[] cells = line.split("\\|");
                Set<String> tags = new TreeSet<>();
                Matcher tag = Pattern.compile("`([a-z]+)`").matcher(cells[2]);
                while (tag.find()) {
                    tags.add(tag.group(1));
                }
                rows.put(cells[1].strip().replace("`", ""), tags);
            }
        }
        assertEquals(tagsByName(), rows);
    }

    @Test
    void thePageHasTheNumberOfMeters() throws IOException {
        int count = registryOfAClient().getMeters().size();
        String sentence = "A client over three nodes has " + count + " meters, each group "
                + (registryOfAClient("orders").getMeters().size() - count) + " more.";
        assertTrue(DocPages.text(PAGE).contains(sentence), sentence);
    }

    @Test
    void operationsNamesMetersThatExist() throws IOException {
        Set<String> names = tagsByName().keySet();
        String section = DocPages.text("docs/guides/operations.md").split("\n## Monitoring\n")[1].split("\n### ")[0];
        Matcher name = Pattern.compile("\\| `(redlock\\.[a-z.]+)`").matcher(section);
        int count = 0;
        while (name.find()) {
            count++;
            assertTrue(names.contains(name.group(1)), name.group(1));
        }
        assertTrue(count >= 10, "meters in the table: " + count);
    }
}
