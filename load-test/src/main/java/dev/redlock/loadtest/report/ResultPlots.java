package dev.redlock.loadtest.report;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.redlock.loadtest.result.Spread;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.DoubleSummaryStatistics;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.ToDoubleFunction;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;

/**
 * Draws pictures for documents from a {@code results.json}: medians over repetitions, one set for each load.
 *
 * @threading caller-confined
 */
public final class ResultPlots {
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
                : spec.get("inFlight").asText() + " in flight";
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
        TreeSet<Integer> counts = new TreeSet<>();
        drivers.values().forEach(byNodes -> counts.addAll(byNodes.keySet()));
        if (counts.size() > 1) {
            save(nodes(drivers, counts, load), "nodes", load);
        }
        save(percentiles(drivers, load), "percentiles", load);
        if (drivers.size() > 1) {
            save(drivers(drivers, counts, load), "drivers", load);
        }
    }

    private void save(Picture picture, String name, String load) throws IOException {
        Path file = folder.resolve(name + "-" + load.replace(' ', '-') + ".png");
        picture.save(file);
        written.add(file);
    }

    /** Latency against the number of nodes: the drivers' medians, or one driver's percentiles. */
    private static Picture nodes(Map<String, Map<Integer, List<JsonNode>>> drivers, TreeSet<Integer> counts,
            String load) {
        boolean isOne = drivers.size() == 1;
        Map<String, Map<Integer, Spread>> lines = new LinkedHashMap<>();
        drivers.forEach((driver, byNodes) -> PERCENTILES.forEach((percentile, field) -> {
            if (isOne || percentile.equals("p50")) {
                Map<Integer, Spread> us = new TreeMap<>();
                byNodes.forEach((n, runs) -> us.put(n, acquire(runs, field)));
                lines.put(isOne ? percentile : driver + ", p50", us);
            }
        }));
        Picture picture = new Picture("Acquire latency against the number of nodes, " + load, "nodes");
        Picture.LogScale scale = micros(picture, lines.values()
                .stream()
                .flatMap(us -> us.values().stream())
                .flatMapToDouble(us -> DoubleStream.of(us.min(), us.max())));
        double width = counts.last() - counts.first();
        counts.forEach(n -> picture.markX((n - counts.first()) / width, Integer.toString(n)));
        lines.forEach((name, us) -> picture.line(name,
                us.keySet().stream().mapToDouble(n -> (n - counts.first()) / width).toArray(),
                shares(scale, us, Spread::median), shares(scale, us, Spread::min), shares(scale, us, Spread::max)));
        return picture;
    }

    private static Picture.LogScale micros(Picture picture, DoubleStream drawn) {
        DoubleSummaryStatistics us = drawn.summaryStatistics();
        Picture.LogScale scale = us.getCount() == 0
                ? new Picture.LogScale(1, 10)
                : Picture.LogScale.around(us.getMin(), us.getMax());
        scale.mark(picture::markY, ReportTables::micros);
        return scale;
    }

    private static double[] shares(Picture.LogScale scale, Map<Integer, Spread> us, ToDoubleFunction<Spread> figure) {
        return us.values().stream().mapToDouble(figure).map(scale::share).toArray();
    }

    /** Percentile curves: of one driver at each node count, or of each driver at the largest. */
    private static Picture percentiles(Map<String, Map<Integer, List<JsonNode>>> drivers, String load) {
        boolean isOne = drivers.size() == 1;
        Map<String, List<double[]>> curves = new LinkedHashMap<>();
        drivers.forEach((driver, byNodes) -> byNodes.forEach((nodes, runs) -> {
            boolean isLargest = nodes.equals(((TreeMap<Integer, List<JsonNode>>) byNodes).lastKey());
            if (isOne || isLargest) {
                curves.put(isOne ? "N = " + nodes : driver + ", N = " + nodes, curve(runs.get(0)));
            }
        }));
        Picture picture = new Picture("Acquire latency by percentile, " + load,
                "share of acquires that were at least as fast");
        Picture.LogScale us = micros(picture, points(curves).mapToDouble(point -> point[1]));
        Picture.LogScale rarity = new Picture.LogScale(1,
                points(curves).mapToDouble(point -> point[0]).max().orElse(10));
        rarity.mark(picture::markX, ResultPlots::share);
        curves.forEach((name, points) -> picture.curve(name,
                points.stream().mapToDouble(point -> rarity.share(point[0])).toArray(),
                points.stream().mapToDouble(point -> us.share(point[1])).toArray()));
        return picture;
    }

    private static Stream<double[]> points(Map<String, List<double[]>> curves) {
        return curves.values().stream().flatMap(List::stream);
    }

    /** Of how many acquires one is slower, and the time. */
    private static List<double[]> curve(JsonNode run) {
        JsonNode acquire = run.get("operations").get("acquire");
        double last = Math.max(1, acquire.get("count").asDouble());
        List<double[]> points = new ArrayList<>();
        for (JsonNode point : acquire.get("curve")) {
            double rarity = 1 / (1 - point.get(0).asDouble() / 100);
            if (rarity <= last && point.get(1).asDouble() > 0) {
                points.add(new double[]{rarity, point.get(1).asDouble()});
            }
        }
        return points;
    }

    private static String share(double rarity) {
        int digits = Math.max(0, (int) Math.ceil(Math.log10(rarity) - 0.01) - 2);
        return String.format(Locale.ROOT, "%." + digits + "f %%", 100 - 100 / rarity);
    }

    private static Picture drivers(Map<String, Map<Integer, List<JsonNode>>> drivers, Set<Integer> counts,
            String load) {
        Picture picture = new Picture("Cycles per second, " + load, "");
        List<String> names = List.copyOf(drivers.keySet());
        Map<Integer, List<Double>> rates = new LinkedHashMap<>();
        counts.forEach(nodes -> rates.put(nodes, names.stream()
                .map(name -> Spread.of(drivers.get(name).getOrDefault(nodes, List.of()),
                        run -> run.get("tally").get("cyclesPerSecond").asDouble()))
                .map(rate -> rate == null ? 0 : rate.median())
                .toList()));
        double max = Math.max(1, rates.values()
                .stream()
                .flatMap(List::stream)
                .mapToDouble(rate -> rate)
                .max()
                .orElse(1));
        double decade = Math.pow(10, Math.floor(Math.log10(max)));
        double step = max < 2 * decade ? decade / 5 : decade;
        for (double rate = 0; rate <= max; rate += step) {
            picture.markY(rate / max, String.format(Locale.ROOT, "%,.0f", rate));
        }
        for (int i = 0; i < names.size(); i++) {
            picture.markGroup(i, names.size(), names.get(i));
        }
        rates.forEach((nodes, perSecond) -> picture.bars("N = " + nodes, counts.size(),
                perSecond.stream().map(rate -> rate / max).toList()));
        return picture;
    }

    private static Spread acquire(List<JsonNode> runs, String field) {
        return Spread.of(runs, run -> run.get("operations").get("acquire").get(field).asDouble());
    }
}
