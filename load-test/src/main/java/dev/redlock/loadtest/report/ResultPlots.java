package dev.redlock.loadtest.report;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.redlock.loadtest.result.Spread;
import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.internal.chartpart.Chart;
import org.knowm.xchart.style.AxesChartStyler;
import org.knowm.xchart.style.Styler;
import org.knowm.xchart.style.lines.SeriesLines;
import org.knowm.xchart.style.markers.SeriesMarkers;

/**
 * Draws pictures for documents from a {@code results.json}: medians over repetitions, one set for each load.
 *
 * @threading caller-confined
 */
public final class ResultPlots {
    private static final int WIDTH = 860;
    private static final int HEIGHT = 440;
    private static final int DPI = 144;
    private static final int BAND_ALPHA = 50;
    private static final Color[] COLOURS = {new Color(0x0B62B8), new Color(0xC65A00), new Color(0x137A4B),
        new Color(0xB3246B), new Color(0x6A4FC4), new Color(0x8A7400), new Color(0x007F8C), new Color(0x84543A),
        new Color(0x566170), new Color(0x111111), new Color(0xD43A3A), new Color(0x5C9E00)};
    private static final Map<String, String> PERCENTILES = new TreeMap<>(
            Map.of("p50", "p50Us", "p99", "p99Us", "p99.9", "p999Us"));

    private final JsonNode result;
    private final Path folder;
    private final List<Path> written = new ArrayList<>();

    private ResultPlots(JsonNode result, Path folder) {
        this.result = result;
        this.folder = folder;
    }

    private static JsonNode read(Path results) throws IOException {
        try {
            return new ObjectMapper().readTree(Files.readAllBytes(results));
        } catch (JacksonException e) {
            throw new IOException(results + " is no JSON: expected a results.json of a run", e);
        }
    }

    /** Draws all pictures for which the results have data. Fails if they are no {@code results.json}. */
    public static List<Path> draw(Path results, Path folder) throws IOException {
        JsonNode result = read(results);
        if (!result.path("series").isArray() || result.get("series").isEmpty()) {
            throw new IOException(
                    results + " holds no series: expected a results.json of a run that measured something");
        }
        Files.createDirectories(folder);
        ResultPlots plots = new ResultPlots(result, folder);
        for (String load : plots.loads()) {
            plots.draw(load);
        }
        return plots.written;
    }

    private Set<String> loads() {
        Set<String> loads = new LinkedHashSet<>();
        result.get("series").forEach(one -> loads.add(load(one)));
        return loads;
    }

    private static String load(JsonNode one) {
        JsonNode spec = one.get("spec");
        return spec.get("loop").asText().equals("OPEN")
                ? String.format(Locale.ROOT, "%.0f per second", spec.get("ratePerSecond").asDouble())
                : spec.get("outstanding").asText() + " in flight";
    }

    private void draw(String load) throws IOException {
        Map<String, Map<Integer, List<JsonNode>>> drivers = new LinkedHashMap<>();
        for (JsonNode one : result.get("series")) {
            if (load(one).equals(load)) {
                drivers.computeIfAbsent(one.get("spec").get("driver").asText(), driver -> new TreeMap<>())
                        .computeIfAbsent(one.get("spec").get("nodes").asInt(), nodes -> new ArrayList<>())
                        .add(one);
            }
        }
        Set<Integer> counts = new TreeSet<>();
        drivers.values().forEach(byNodes -> counts.addAll(byNodes.keySet()));
        if (counts.size() > 1) {
            save(nodes(drivers, load), "nodes", load);
        }
        save(percentiles(drivers, load), "percentiles", load);
        if (drivers.size() > 1) {
            save(drivers(drivers, counts, load), "drivers", load);
        }
    }

    private void save(Chart<?, ?> chart, String name, String load) throws IOException {
        Path file = folder.resolve(name + "-" + load.replace(' ', '-') + ".png");
        BitmapEncoder.saveBitmapWithDPI(chart, file.toString(), BitmapEncoder.BitmapFormat.PNG, DPI);
        written.add(file);
    }

    /** Latency against the number of nodes: the drivers' medians, or one driver's percentiles. */
    private static XYChart nodes(Map<String, Map<Integer, List<JsonNode>>> drivers, String load) {
        XYChart chart = lines("Acquire latency against the number of nodes, " + load, "nodes");
        List<XYSeries> drawn = new ArrayList<>();
        List<Supplier<XYSeries>> bands = new ArrayList<>();
        boolean isOne = drivers.size() == 1;
        drivers.forEach((driver, byNodes) -> PERCENTILES.forEach((percentile, field) -> {
            if (isOne || percentile.equals("p50")) {
                double[] n = byNodes.keySet().stream().mapToDouble(Integer::doubleValue).toArray();
                List<Spread> us = byNodes.values().stream().map(runs -> acquire(runs, field)).toList();
                String name = isOne ? percentile : driver + ", p50";
                XYSeries line = chart.addSeries(name, n, us.stream().mapToDouble(Spread::median).toArray());
                line.setMarker(SeriesMarkers.CIRCLE).setLineColor(COLOURS[drawn.size() % COLOURS.length]);
                line.setMarkerColor(line.getLineColor());
                drawn.add(line);
                bands.add(() -> band(chart, line, us));
            }
        }));
        chart.getStyler().setXAxisDecimalPattern("0").setXAxisMaxLabelCount(8);
        bands.forEach(band -> drawn.add(band.get()));
        wholeDecades(chart, drawn);
        return chart;
    }

    /** The area from the lowest turn to the highest. */
    private static XYSeries band(XYChart chart, XYSeries line, List<Spread> us) {
        int count = us.size();
        double[] n = new double[2 * count];
        double[] edge = new double[2 * count];
        for (int i = 0; i < count; i++) {
            n[i] = line.getXData()[i];
            edge[i] = us.get(i).min();
            n[2 * count - 1 - i] = n[i];
            edge[2 * count - 1 - i] = us.get(i).max();
        }
        Color colour = line.getLineColor();
        XYSeries band = chart.addSeries(line.getName() + ", turns", n, edge);
        band.setXYSeriesRenderStyle(XYSeries.XYSeriesRenderStyle.PolygonArea);
        band.setFillColor(new Color(colour.getRed(), colour.getGreen(), colour.getBlue(), BAND_ALPHA));
        band.setLineStyle(SeriesLines.NONE);
        band.setMarker(SeriesMarkers.NONE);
        band.setShowInLegend(false);
        return band;
    }

    /** Percentile curves: of one driver at each node count, or of each driver at the largest. */
    private static XYChart percentiles(Map<String, Map<Integer, List<JsonNode>>> drivers, String load) {
        XYChart chart = lines("Acquire latency by percentile, " + load, "share of acquires that were at least as fast");
        chart.getStyler().setXAxisLogarithmic(true).setXAxisTickLabelsFormattingFunction(ResultPlots::share);
        List<XYSeries> drawn = new ArrayList<>();
        boolean isOne = drivers.size() == 1;
        drivers.forEach((driver, byNodes) -> byNodes.forEach((nodes, runs) -> {
            boolean isLargest = nodes.equals(((TreeMap<Integer, List<JsonNode>>) byNodes).lastKey());
            if (isOne || isLargest) {
                drawn.add(curve(chart, isOne ? "N = " + nodes : driver + ", N = " + nodes, runs.get(0)));
            }
        }));
        wholeDecades(chart, drawn);
        return chart;
    }

    /** Only powers of ten have labels, so the axis must include two of them. */
    private static void wholeDecades(XYChart chart, List<XYSeries> drawn) {
        double min = drawn.stream().mapToDouble(XYSeries::getYMin).min().orElse(1);
        double max = drawn.stream().mapToDouble(XYSeries::getYMax).max().orElse(10);
        chart.getStyler()
                .setYAxisMin(Math.pow(10, Math.floor(Math.log10(min))))
                .setYAxisMax(Math.pow(10, Math.ceil(Math.log10(max))));
    }

    private static XYSeries curve(XYChart chart, String name, JsonNode run) {
        JsonNode acquire = run.get("operations").get("acquire");
        double last = Math.max(1, acquire.get("count").asDouble());
        List<Double> rarity = new ArrayList<>();
        List<Double> us = new ArrayList<>();
        for (JsonNode point : acquire.get("curve")) {
            double x = 1 / (1 - point.get(0).asDouble() / 100);
            if (x <= last && point.get(1).asDouble() > 0) {
                rarity.add(x);
                us.add(point.get(1).asDouble());
            }
        }
        XYSeries line = chart.addSeries(name, rarity, us);
        line.setMarker(SeriesMarkers.NONE);
        return line;
    }

    private static String share(double rarity) {
        int digits = Math.max(0, (int) Math.ceil(Math.log10(rarity) - 0.01) - 2);
        return String.format(Locale.ROOT, "%." + digits + "f %%", 100 - 100 / rarity);
    }

    private static CategoryChart drivers(Map<String, Map<Integer, List<JsonNode>>> drivers, Set<Integer> counts,
            String load) {
        CategoryChart chart = new CategoryChartBuilder().width(WIDTH)
                .height(HEIGHT)
                .title("Cycles per second, " + load)
                .build();
        dress(chart.getStyler());
        List<String> names = List.copyOf(drivers.keySet());
        chart.getStyler()
                .setAvailableSpaceFill(0.8)
                .setXAxisLabelRotation(30)
                .setXAxisTickMarkSpacingHint(1)
                .setYAxisDecimalPattern("#,##0");
        for (int nodes : counts) {
            List<Double> rates = names.stream()
                    .map(name -> Spread.of(drivers.get(name).getOrDefault(nodes, List.of()),
                            run -> run.get("tally").get("cyclesPerSecond").asDouble()))
                    .map(rate -> rate == null ? 0 : rate.median())
                    .toList();
            chart.addSeries("N = " + nodes, names, rates);
        }
        return chart;
    }

    private static XYChart lines(String title, String xTitle) {
        XYChart chart = new XYChartBuilder().width(WIDTH).height(HEIGHT).title(title).xAxisTitle(xTitle).build();
        dress(chart.getStyler());
        chart.getStyler()
                .setYAxisLogarithmic(true)
                .setYAxisTickLabelsFormattingFunction(us -> ReportTables.micros(us));
        return chart;
    }

    private static void dress(AxesChartStyler styler) {
        styler.setPlotGridLinesColor(new Color(0xDDE2E8));
        styler.setAxisTickLabelsFont(new Font(Font.SANS_SERIF, Font.PLAIN, 12));
        styler.setAxisTitleFont(new Font(Font.SANS_SERIF, Font.PLAIN, 13));
        styler.setBaseFont(new Font(Font.SANS_SERIF, Font.PLAIN, 12))
                .setChartTitleFont(new Font(Font.SANS_SERIF, Font.BOLD, 15))
                .setChartBackgroundColor(Color.WHITE)
                .setPlotBorderVisible(false)
                .setSeriesColors(COLOURS)
                .setSeriesLines(new BasicStroke[]{new BasicStroke(2)})
                .setLegendBorderColor(Color.WHITE)
                .setLegendPosition(Styler.LegendPosition.OutsideE)
                .setMarkerSize(7);
    }

    private static Spread acquire(List<JsonNode> runs, String field) {
        return Spread.of(runs, run -> run.get("operations").get("acquire").get(field).asDouble());
    }
}
