package dev.redlock.loadtest.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.loadtest.result.RunResult;
import java.awt.Font;
import java.awt.font.FontRenderContext;
import java.awt.geom.Rectangle2D;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The charts of a report as a browser of a telephone's width draws them. Without Chromium these tests are skipped. */
class ReportLayoutTest {
    private static final Path BROWSER = Path.of("/usr/bin/chromium");
    private static final int WIDTH = 390;
    private static final double GAP = 4;
    private static final Pattern CHART = Pattern.compile("(?s)<section id=\"(\\w+)\">.*?(<svg.*?</svg>)");
    private static final Pattern TEXT = Pattern.compile("<text ([^>]*)>([^<]*)</text>");
    private static final FontRenderContext PLAIN = new FontRenderContext(null, true, true);

    @TempDir
    private Path folder;

    @Test
    void labelsOfALatencyRunStandApart() throws Exception {
        SampleRuns runs = SampleRuns.empty().command("latency");
        for (int nodes : new int[]{1, 3, 5, 7}) {
            runs.add("redlock", nodes, 1, 1, 60.0 * nodes).add("redlock", nodes, 64, 1, 300.0 * nodes);
        }
        assertLabelsStandApart(drawn(runs.result()), 6);
    }

    @Test
    void labelsOfAComparisonStandApart() throws Exception {
        assertLabelsStandApart(drawn(SampleRuns.comparing("redlock", "redlock-blocking", "redisson").result()), 7);
    }

    private String drawn(RunResult result) throws Exception {
        Assumptions.assumeTrue(Files.isExecutable(BROWSER), "no " + BROWSER);
        // A window is never as narrow as this.
        Path page = Files.writeString(folder.resolve("report.html"), HtmlReport.page(result)
                .replace("<body>", "<body style=\"width: " + WIDTH + "px\">"));
        Path file = folder.resolve("drawn.html");
        Process browser = new ProcessBuilder(BROWSER.toString(), "--headless", "--no-sandbox", "--disable-gpu",
                "--user-data-dir=" + folder.resolve("browser"), "--window-size=500,6000", "--dump-dom",
                page.toUri().toString()).redirectOutput(file.toFile())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try {
            assertTrue(browser.waitFor(60, TimeUnit.SECONDS), "the browser has not ended");
        } finally {
            browser.destroyForcibly();
        }
        return Files.readString(file);
    }

    private static void assertLabelsStandApart(String page, int charts) throws IOException {
        Matcher chart = CHART.matcher(page);
        int found = 0;
        for (; chart.find(); found++) {
            List<Label> labels = labels(chart.group(2));
            assertTrue(labels.size() > 4, chart.group(1) + " has " + labels);
            for (int i = 0; i < labels.size(); i++) {
                for (Label other : labels.subList(i + 1, labels.size())) {
                    assertFalse(labels.get(i).touches(other), chart.group(1) + ": " + labels.get(i) + " and " + other);
                }
            }
            List<String> times = labels.stream().map(Label::text).filter(text -> text.endsWith(" s")).toList();
            assertEquals(times.size(), new HashSet<>(times).size(), chart.group(1) + " repeats one of " + times);
        }
        assertEquals(charts, found);
    }

    private static List<Label> labels(String svg) {
        List<Label> labels = new ArrayList<>();
        Matcher text = TEXT.matcher(svg);
        while (text.find()) {
            // Names of marks stand upright, each at its line.
            if (!text.group(1).contains("rotate(") && !text.group(1).contains("matrix(")) {
                labels.add(Label.of(text.group(1), text.group(2)));
            }
        }
        return labels;
    }

    private static double number(String attributes, String pattern) {
        Matcher matcher = Pattern.compile(pattern).matcher(attributes);
        return matcher.find() ? Double.parseDouble(matcher.group(1)) : 0;
    }

    private record Label(String text, Rectangle2D place) {
        static Label of(String attributes, String text) {
            Font font = new Font(Font.SANS_SERIF, Font.PLAIN, (int) number(attributes, "font-size: ([0-9]+)px"));
            Rectangle2D size = font.getStringBounds(text, PLAIN);
            double x = number(attributes, "\\bx=\"(-?[0-9.]+)\"") + number(attributes, "translate\\((-?[0-9.]+)");
            double y = number(attributes, "\\by=\"(-?[0-9.]+)\"")
                    + number(attributes, "translate\\(-?[0-9.]+ (-?[0-9.]+)\\)");
            double left = attributes.contains("\"middle\"")
                    ? x - size.getWidth() / 2
                    : attributes.contains("\"end\"") ? x - size.getWidth() : x;
            double height = font.getSize();
            return new Label(text, new Rectangle2D.Double(left, y - height / 2, size.getWidth(), height));
        }

        boolean touches(Label other) {
            return place.intersects(other.place.getX() - GAP, other.place.getY(), other.place.getWidth() + 2 * GAP,
                    other.place.getHeight());
        }

        @Override
        public String toString() {
            return String.format(Locale.ROOT, "'%s' at %.0f,%.0f, %.0f wide", text, place.getX(), place.getY(),
                    place.getWidth());
        }
    }
}
