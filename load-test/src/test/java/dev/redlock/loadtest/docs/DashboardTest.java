package dev.redlock.loadtest.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.micrometer.RedlockMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.awt.Rectangle;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The dashboard for Grafana and the alert rules for Prometheus ask for series that a scrape of a client has, with their
 * labels and values, and the dashboard is well-formed.
 */
@Timeout(60)
class DashboardTest {

    private static final String DASHBOARD = "docs/guides/grafana/redlock-dashboard.json";
    private static final String ALERTS = "docs/guides/grafana/redlock-alerts.yml";
    private static final int COLUMNS = 24;
    /** Prometheus adds them to each series. */
    private static final Set<String> OF_TARGETS = Set.of("job", "instance");
    private static final Set<String> OF_GRAFANA = Set.of("__rate_interval", "__all");

    private static final Pattern SERIES = Pattern.compile("(redlock_[a-z_]+)(?:\\{(.*)})? \\S+");
    private static final Pattern METRIC = Pattern.compile("redlock_[a-z_]+");
    private static final Pattern SELECTOR = Pattern.compile("(redlock_[a-z_]+)\\{([^}]*)}");
    private static final Pattern LABEL = Pattern.compile("(\\w+)=~?\"([^\"]*)\"");
    private static final Pattern BY = Pattern.compile("(?:by|on) \\(([^)]*)\\)");
    private static final Pattern VARIABLE = Pattern.compile("\\$\\{?(\\w+)");
    private static final Pattern LEGEND = Pattern.compile("\\{\\{(\\w+)}}");
    private static final Pattern ALERT = Pattern.compile("(?ms)^ {6}- alert: (\\w+)\n(.*?)(?=^ {6}(?:-|#)|\\z)");
    private static final Pattern EXPRESSION = Pattern.compile("(?m)^ {8}expr: (?:>-\n((?: {10}.*\n)+)|(.*)\n)");

    /** The labels of each metric, with their values. */
    private static Map<String, Map<String, Set<String>>> scraped;
    private static JsonNode dashboard;

    @BeforeAll
    static void read() throws Exception {
        scraped = scrape();
        dashboard = new ObjectMapper().readTree(DocPages.text(DASHBOARD));
    }

    private static Map<String, Map<String, Set<String>>> scrape() throws InterruptedException {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        try (Redlock redlock = Redlock.connect(new RedlockContext().nodes("127.0.0.1:1", "127.0.0.1:2"))) {
            AcquireOutcome outcome = redlock.tryAcquire("a",
                    AcquireOptions.ofTtl(Duration.ofSeconds(10)).group("orders"));
            assertFalse(outcome.isAcquired());
            new RedlockMetrics(redlock).bindTo(registry);
            Map<String, Map<String, Set<String>>> all = new TreeMap<>();
            registry.scrape().lines().filter(line -> !line.startsWith("#")).forEach(line -> {
                MatchResult series = SERIES.matcher(line).results().findFirst().orElseThrow();
                Map<String, Set<String>> labels = all.computeIfAbsent(series.group(1), name -> new TreeMap<>());
                labels(series.group(2) == null ? "" : series.group(2)).forEach(
                        (label, value) -> labels.computeIfAbsent(label, name -> new TreeSet<>()).add(value));
            });
            return all;
        }
    }

    private static Map<String, String> labels(String text) {
        return LABEL.matcher(text)
                .results()
                .collect(Collectors.toMap(label -> label.group(1), label -> label.group(2)));
    }

    private static List<JsonNode> panels() {
        List<JsonNode> panels = new ArrayList<>();
        dashboard.get("panels").forEach(panels::add);
        return panels;
    }

    private static List<JsonNode> targets() {
        List<JsonNode> targets = new ArrayList<>();
        panels().forEach(panel -> panel.path("targets").forEach(targets::add));
        return targets;
    }

    private static Set<String> variables() {
        Set<String> names = new TreeSet<>();
        dashboard.get("templating").get("list").forEach(variable -> names.add(variable.get("name").asText()));
        return names;
    }

    /** The alerts by name, as the text of their rules. */
    private static Map<String, String> alerts() throws IOException {
        return ALERT.matcher(DocPages.text(ALERTS))
                .results()
                .collect(Collectors.toMap(alert -> alert.group(1), alert -> alert.group(2), (a, b) -> {
                    throw new AssertionError("two alerts with one name");
                }, TreeMap::new));
    }

    private static String expression(String alert) {
        MatchResult found = EXPRESSION.matcher(alert)
                .results()
                .findFirst()
                .orElseThrow(() -> new AssertionError(alert));
        return found.group(1) == null ? found.group(2) : found.group(1).strip();
    }

    private static List<String> expressions() throws IOException {
        List<String> all = new ArrayList<>(targets().stream().map(target -> target.get("expr").asText()).toList());
        dashboard.get("templating")
                .get("list")
                .forEach(variable -> all.add(variable.path("definition").asText()));
        alerts().values().forEach(alert -> all.add(expression(alert)));
        return all;
    }

    // ---- names ------------------------------------------------------------------------------------------------------

    @Test
    void aScrapeHasEachMetricWithItsLabels() throws IOException {
        Set<String> used = new TreeSet<>();
        for (String expression : expressions()) {
            Set<String> known = new HashSet<>(OF_TARGETS);
            METRIC.matcher(expression).results().map(MatchResult::group).forEach(metric -> {
                used.add(metric);
                assertTrue(scraped.containsKey(metric), metric + " of " + expression);
                known.addAll(scraped.get(metric).keySet());
            });
            SELECTOR.matcher(expression).results().forEach(selector -> {
                Map<String, Set<String>> labels = scraped.get(selector.group(1));
                labels(selector.group(2)).forEach((label, value) -> assertSelects(labels, label, value, expression));
            });
            for (String label : groupedBy(expression)) {
                assertTrue(known.contains(label), label + " of " + expression);
            }
        }
        assertTrue(used.size() >= 20, used::toString);
    }

    private static void assertSelects(Map<String, Set<String>> labels, String label, String value, String expression) {
        if (!OF_TARGETS.contains(label)) {
            assertTrue(labels.containsKey(label), label + " of " + expression);
            for (String one : value.split("\\|")) {
                assertTrue(one.startsWith("$") || labels.get(label).contains(one), one + " of " + expression);
            }
        }
    }

    private static Set<String> groupedBy(String expression) {
        return BY.matcher(expression)
                .results()
                .flatMap(by -> Arrays.stream(by.group(1).split(", *")))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    // ---- the dashboard ----------------------------------------------------------------------------------------------

    @Test
    void eachPanelHasItsPlaceAndSaysWhatItShows() {
        Set<Integer> ids = new HashSet<>();
        Set<String> titles = new HashSet<>();
        List<Rectangle> places = new ArrayList<>();
        for (JsonNode panel : panels()) {
            String title = panel.get("title").asText();
            assertTrue(ids.add(panel.get("id").asInt()), title);
            assertTrue(titles.add(title), title);
            JsonNode at = panel.get("gridPos");
            Rectangle place = new Rectangle(at.get("x").asInt(), at.get("y").asInt(), at.get("w").asInt(),
                    at.get("h").asInt());
            assertTrue(place.x >= 0 && place.x + place.width <= COLUMNS, title);
            places.forEach(other -> assertFalse(other.intersects(place), title + " overlaps another panel"));
            places.add(place);
            if (!panel.get("type").asText().equals("row")) {
                assertTrue(panel.get("description").asText().endsWith("."), title);
                assertTrue(panel.get("targets").size() > 0, title);
                assertFalse(panel.get("fieldConfig").get("defaults").get("unit").asText().isEmpty(), title);
            }
        }
        assertTrue(places.size() > 20, "panels: " + places.size());
    }

    @Test
    void eachQueryHasADataSourceAndKnownVariables() {
        Set<String> known = new TreeSet<>(variables());
        assertEquals(Set.of("datasource", "group", "instance", "job"), known);
        known.addAll(OF_GRAFANA);
        Set<String> used = VARIABLE.matcher(dashboard.toString())
                .results()
                .map(variable -> variable.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
        assertEquals(known, used);
        for (JsonNode panel : panels()) {
            Set<String> references = new HashSet<>();
            for (JsonNode target : panel.path("targets")) {
                String expression = target.get("expr").asText();
                assertTrue(references.add(target.get("refId").asText()), expression);
                assertEquals("${datasource}", target.get("datasource").get("uid").asText(), expression);
                assertTrue(expression.contains("job=~\"$job\",instance=~\"$instance\""), expression);
                LEGEND.matcher(target.get("legendFormat").asText())
                        .results()
                        .forEach(label -> assertTrue(groupedBy(expression).contains(label.group(1)), expression));
            }
        }
    }

    // ---- the alerts -------------------------------------------------------------------------------------------------

    @Test
    void eachAlertSaysWhatToDoAndWhereToReadOn() throws IOException {
        Map<String, String> alerts = alerts();
        assertEquals(DocPages.text(ALERTS).split("alert: ").length - 1, alerts.size());
        assertTrue(alerts.keySet()
                .containsAll(Set.of("RedlockNoQuorum", "RedlockNodeWithoutVotes", "RedlockLeaseLost",
                        "RedlockContention", "RedlockAcquireSlow")),
                alerts::toString);
        Pattern section = Pattern.compile("section: \"(.*)\"");
        for (Map.Entry<String, String> alert : alerts.entrySet()) {
            String text = alert.getValue();
            assertTrue(text.matches("(?s).*severity: (critical|warning)\n.*"), alert.getKey());
            String summary = text.split("summary: >-\n")[1].split("section:")[0].strip();
            assertTrue(summary.contains("{{ $labels.") && summary.contains(": ") && summary.endsWith("."), summary);
            String link = section.matcher(text).results().findFirst().orElseThrow().group(1);
            assertTrue(DocLinksTest.resolves(DocPages.root().resolve("README.md"), link), link);
            // What a summary names, the expression has kept.
            Pattern.compile("\\$labels\\.(\\w+)").matcher(summary).results().forEach(label -> {
                Set<String> kept = groupedBy(expression(text));
                assertTrue(kept.isEmpty() || kept.contains(label.group(1)), summary);
            });
        }
    }
}
