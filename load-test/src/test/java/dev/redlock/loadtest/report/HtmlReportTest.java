package dev.redlock.loadtest.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class HtmlReportTest {
    private static final String HOSTILE = "</script><script>alert(1)</script><!--\" onload='x' &amp; \u2028 "
            + "<img src=x>";
    private static final Pattern SCRIPT = Pattern.compile("<script([^>]*)>(.*?)</script>", Pattern.DOTALL);

    @Test
    void reportLoadsNothingExternal() throws Exception {
        String page = HtmlReport.page(SampleRuns.comparing("redlock", "lettuce").result());
        String markup = SCRIPT.matcher(page).replaceAll("");
        assertFalse(markup.contains("://"), "a URL outside the scripts");
        assertFalse(Pattern.compile("(?i)<(link|img|iframe|object|embed|base)\\b|@import|url\\(|\\bsrc=|\\bhref=")
                .matcher(markup)
                .find(), "an element or rule that loads something");
        assertFalse(ReportAssets.script().contains("://"), "a URL in the report's script");
        assertTrue(page.contains("content=\"default-src 'none';"), "the browser loads nothing");
    }

    /** The policy names the scripts by their digests: a mistake here and the browser would run none of them. */
    @Test
    void policyAllowsItsOwnScriptsAndNoOthers() throws Exception {
        String page = HtmlReport.page(SampleRuns.comparing("redlock").note(HOSTILE).result());
        List<String> expected = new ArrayList<>();
        for (String script : executableScripts(page)) {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(script.getBytes(StandardCharsets.UTF_8));
            expected.add("'sha256-" + Base64.getEncoder().encodeToString(digest) + "'");
        }
        assertEquals(2, expected.size());
        Matcher policy = Pattern.compile("script-src ([^\";]+)").matcher(page);
        assertTrue(policy.find());
        assertEquals(String.join(" ", expected), policy.group(1));
    }

    private static List<String> executableScripts(String page) {
        List<String> scripts = new ArrayList<>();
        Matcher matcher = SCRIPT.matcher(page);
        while (matcher.find()) {
            if (matcher.group(1).isEmpty()) {
                scripts.add(matcher.group(2));
            }
        }
        return scripts;
    }

    @Test
    void reportContainsTheWholeRun() throws Exception {
        String page = HtmlReport.page(SampleRuns.comparing("redlock", "lettuce").note("where they came from").result());
        JsonNode data = data(page);
        assertEquals(24, data.get("series").size());
        assertEquals("lettuce", data.get("series").get(23).get("spec").get("driver").asText());
        assertEquals("where they came from", data.get("notes").get(0).asText());
        assertTrue(page.contains("<span class=\"verdict pass\">PASS</span>"));
        assertTrue(page.contains("where they came from") && page.contains("Redis 7.0.15"));
    }

    private static JsonNode data(String page) throws Exception {
        Matcher matcher = Pattern.compile("id=\"data\">(.*?)</script>", Pattern.DOTALL).matcher(page);
        assertTrue(matcher.find());
        return new ObjectMapper().readTree(matcher.group(1));
    }

    @Test
    void hostileTextIsEscaped() throws Exception {
        String page = HtmlReport.page(SampleRuns.empty()
                .add(HOSTILE, 3, 64, 1, 100)
                .option("addresses", HOSTILE)
                .option(HOSTILE, "value")
                .note(HOSTILE)
                .failure(HOSTILE)
                .result());
        assertFalse(page.contains("<script>alert"), "a script got in");
        assertFalse(SCRIPT.matcher(page).replaceAll("").contains("<img"), "an element got in");
        assertEquals(2, executableScripts(page).size());
        assertEquals(HOSTILE, data(page).get("options").get("addresses").asText(), "and nothing is lost");
        assertTrue(page.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
    }

    @Test
    void failedRunShowsItsReasonsFirst() throws Exception {
        String page = HtmlReport.page(SampleRuns.comparing("redlock").failure("two holders overlapped").result());
        int reason = page.indexOf("two holders overlapped");
        assertTrue(page.contains("<span class=\"verdict fail\">FAIL</span>"));
        assertTrue(reason > 0 && reason < page.indexOf("class=\"cards\""));
    }

    @Test
    void latencyRunShowsLatencyAtEachNodeCountFirst() throws Exception {
        SampleRuns runs = SampleRuns.empty().command("latency").warning("turns disagree");
        for (int repetition = 1; repetition <= 3; repetition++) {
            for (int nodes : new int[]{1, 3}) {
                runs.add("redlock", nodes, 1, repetition, 100.0 * nodes * repetition * repetition)
                        .add("redlock", nodes, 64, repetition, 900);
            }
        }
        String page = HtmlReport.page(runs.result());
        assertTrue(page.contains("<h1>Lock latency against the number of nodes</h1>"), page.substring(0, 6000));
        String cards = page.substring(page.indexOf("class=\"cards\""), page.indexOf("</dl>"));
        Matcher first = Pattern.compile("(?s)Acquire on 1 node<.*?<dd>(\\d+) us</dd><dd>p50, 1 in flight; "
                + "median of 3 turns, (\\d+) us – (1.\\d+) ms<.*Acquire on 3 nodes<").matcher(cards);
        assertTrue(first.find(), cards);
        assertEquals(4, Double.parseDouble(first.group(1)) / Double.parseDouble(first.group(2)), 0.5, cards);
        assertTrue(page.indexOf("turns disagree") < page.indexOf("class=\"cards\""), "warnings come first");
        assertTrue(page.contains("<pre class=\"command\">java -jar load-test.jar latency --nodes 1,3,5</pre>"));
        assertTrue(page.contains("<summary>Every turn</summary>") && page.contains("all turns"));
    }

    /** The best turn of all is luck. */
    @Test
    void comparisonShowsMediansOverTheTurnsFirst() throws Exception {
        SampleRuns runs = SampleRuns.empty();
        for (int repetition = 1; repetition <= 3; repetition++) {
            runs.add("steady", 3, 1, repetition, 100).add("lucky", 3, 1, repetition, repetition == 1 ? 10 : 200);
        }
        String page = HtmlReport.page(runs.result());
        String cards = page.substring(page.indexOf("class=\"cards\""), page.indexOf("</dl>"));
        for (String title : List.of("Highest throughput", "Shortest acquire, p50")) {
            assertTrue(Pattern.compile(title + "</dt><dd>[^<]+</dd><dd>steady, N = 3, 1 in flight; median of 3 turns")
                    .matcher(cards)
                    .find(), cards);
        }
    }

    /** Those of the series have a resource for each cycle, so they cannot overlap. */
    @Test
    void overlapsAreThoseOfTheContestedResourcesIfThereWereAny() throws Exception {
        String page = HtmlReport.page(SampleRuns.comparing("redlock").contested(4321, 2).result());
        assertTrue(page.contains("<dt>Overlapping holders</dt><dd>2</dd>"
                + "<dd>in 4,321 holdings of contested resources</dd>"),
                page.substring(page.indexOf("class=\"cards\"")));
        assertEquals(4321, data(page).get("contested").get("holdings").asLong());
        assertTrue(HtmlReport.page(SampleRuns.comparing("redlock").result())
                .contains("<dt>Overlapping holders</dt><dd>0</dd><dd>in 72,000 holdings</dd>"));
    }

    @Test
    void serversOfOneVersionAreCounted() throws Exception {
        String page = HtmlReport.page(SampleRuns.comparing("redlock").result());
        assertTrue(page.contains("<td>Redis 7.0.15 (3 nodes)</td>"), "servers");
    }

    @Test
    void runWithoutSeriesHasAPage() throws Exception {
        String page = HtmlReport.page(SampleRuns.empty().failure("nothing was measured").result());
        assertTrue(page.contains("nothing was measured"), page);
    }
}
