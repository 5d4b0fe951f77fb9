import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Draws the pictures of the pages from their figures, for light and for dark pages.
 *
 * <pre>
 * java docs/images/Pictures.java docs/guides/figures/compare.csv docs/images [figures of the servers [tails [crowds]]]
 * </pre>
 *
 * The tails are a folder with the {@code .hgrm} files of {@code load-test tails}.
 */
public final class Pictures {
    private static final int WIDTH = 440;
    private static final int HEIGHT = 270;
    private static final String FONT = "font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\"";
    private static final int LABEL_GAP = 15;
    /** The width of the longest bar of its scale. */
    private static final int BAR_WIDTH = 235;
    /** Where the bars start. */
    private static final int LEFT = 132;

    /** A driver of the comparison and its name for readers. */
    private record Driver(String id, String label) {
    }

    private record Theme(String name, String text, String grid, String own, String other) {
    }

    private static final List<Theme> THEMES = List.of(
            new Theme("light", "#1f2328", "#d1d9e0", "#0969da", "#818b98"),
            new Theme("dark", "#e6edf3", "#3d444d", "#4493f8", "#9198a1"));
    private static final List<Driver> LINES = List.of(new Driver("redisson", "Redisson RedLock"),
            new Driver("lettuce-batched", "Lettuce, tuned"), new Driver("redlock", "redlock"),
            new Driver("set-nx", "one SET NX"));
    private static final List<Driver> BARS = List.of(new Driver("redlock", "redlock"),
            new Driver("lettuce-batched", "Lettuce, tuned"), new Driver("redlock-blocking", "redlock, blocking"),
            new Driver("jedis", "Jedis"), new Driver("redisson", "Redisson RedLock"));
    private static final List<Driver> SERVERS = List.of(new Driver("redlock-each", "plain"),
            new Driver("redlock", "batched"), new Driver("redlock-thrifty", "thrifty"));
    private static final int[] NODES = {1, 3, 5};

    private final List<String[]> rows = new ArrayList<>();
    private List<String> columns;
    private StringBuilder svg;
    private Theme theme;

    private Pictures(String file) throws IOException {
        for (String line : Files.readAllLines(Path.of(file))) {
            if (columns == null && !line.startsWith("#")) {
                columns = List.of(line.split(","));
            } else if (!line.startsWith("#")) {
                rows.add(line.split(",", -1));
            }
        }
    }

    public static void main(String[] args) throws IOException {
        Pictures pictures = new Pictures(args[0]);
        for (Theme theme : THEMES) {
            pictures.theme = theme;
            Files.writeString(Path.of(args[1], "latency-" + theme.name() + ".svg"), pictures.latency());
            Files.writeString(Path.of(args[1], "throughput-" + theme.name() + ".svg"), pictures.throughput());
            if (args.length > 2) {
                Pictures servers = new Pictures(args[2]);
                servers.theme = theme;
                Files.writeString(Path.of(args[1], "servers-" + theme.name() + ".svg"), servers.servers());
            }
            if (args.length > 3) {
                Files.writeString(Path.of(args[1], "tails-" + theme.name() + ".svg"), pictures.tails(args[3]));
            }
            if (args.length > 4) {
                Pictures crowds = new Pictures(args[4]);
                crowds.theme = theme;
                Files.writeString(Path.of(args[1], "crowds-" + theme.name() + ".svg"), crowds.crowds());
            }
        }
    }

    private double value(int inFlight, String driver, int nodes, String column) {
        return rows.stream()
                .filter(row -> row[0].equals(Integer.toString(inFlight)) && row[1].equals(driver)
                        && row[2].equals(Integer.toString(nodes)))
                .mapToDouble(row -> Double.parseDouble(row[columns.indexOf(column)]))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("no figure of " + driver + " with " + nodes + " nodes"));
    }

    private void start(String title) {
        start(title, WIDTH);
    }

    private void start(String title, int width) {
        svg = new StringBuilder(String.format(Locale.ROOT,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
                        + "role=\"img\">%n<title>%s</title>%n",
                width, HEIGHT, width, HEIGHT, title));
        text(8, 20, "start", theme.text(), 600, 14, title);
    }

    private String end() {
        return svg.append("</svg>\n").toString().replace(System.lineSeparator(), "\n");
    }

    private void text(double x, double y, String anchor, String color, int weight, int size, String words) {
        svg.append(String.format(Locale.ROOT, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\" "
                + "font-weight=\"%d\" font-size=\"%d\" %s>%s</text>%n", x, y, anchor, color, weight, size, FONT,
                words));
    }

    private static String time(double us) {
        String format = us < 1000 ? "%.0f us" : us % 1000 == 0 ? "%.0f ms" : "%.2f ms";
        return String.format(Locale.ROOT, format, us < 1000 ? us : us / 1000);
    }

    private static boolean isOwn(Driver driver) {
        return driver.id().startsWith("redlock");
    }

    // ---- latency against nodes, one lock at a time ------------------------------------------------------------------

    private static double x(int nodes) {
        return 62 + (nodes - 1) * 48;
    }

    /** A logarithmic axis from 50 us to 1.5 ms. */
    private static double y(double us) {
        return 232 - Math.log(us / 50) / Math.log(30) * 185;
    }

    private String latency() {
        start("Median time to lock and unlock once");
        for (int us : new int[]{50, 100, 300, 1000}) {
            svg.append(String.format(Locale.ROOT, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"%s\"/>%n", x(1), y(us), x(5),
                    theme.grid()));
            text(x(1) - 8, y(us) + 4, "end", theme.text(), 400, 11, time(us));
        }
        for (int nodes : NODES) {
            text(x(nodes), 250, "middle", theme.text(), 400, 11, nodes == 1 ? "1 node" : Integer.toString(nodes));
        }
        double last = Double.NEGATIVE_INFINITY;
        for (Driver driver : LINES) {
            String color = isOwn(driver) ? theme.own() : theme.other();
            StringBuilder path = new StringBuilder();
            for (int nodes : NODES) {
                path.append(path.isEmpty() ? 'M' : 'L').append(String.format(Locale.ROOT, "%.1f %.1f", x(nodes),
                        y(value(1, driver.id(), nodes, "cycle_p50_us"))));
            }
            svg.append(String.format(Locale.ROOT, "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"/>%n",
                    path, color, isOwn(driver) ? "3" : "1.5"));
            double us = value(1, driver.id(), 5, "cycle_p50_us");
            last = Math.max(last + LABEL_GAP, y(us) + 4);
            text(x(5) + 8, last, "start", isOwn(driver) ? color : theme.text(), isOwn(driver) ? 700 : 400, 12,
                    driver.label() + ", " + time(us));
        }
        return end();
    }

    // ---- cycles per second, 64 in flight ----------------------------------------------------------------------------

    private String throughput() {
        double[] figures = BARS.stream().mapToDouble(driver -> value(64, driver.id(), 3, "cycles_per_s")).toArray();
        return bars("Locks per second, 3 nodes, 64 in flight", BARS, figures, 0, figures[0]);
    }

    /** What all servers together do with one core. A retained lock uses no server, so it has no place here. */
    private String servers() {
        double[] figures = SERVERS.stream()
                .mapToDouble(driver -> 1e6 / value(64, driver.id(), 3, "servers_cpu_us"))
                .toArray();
        return bars("Locks per second for each core of all servers", SERVERS, figures, 1,
                Arrays.stream(figures).max().orElseThrow());
    }

    private String bars(String title, List<Driver> drivers, double[] figures, int own, double greatest) {
        start(title);
        for (int i = 0; i < drivers.size(); i++) {
            Driver driver = drivers.get(i);
            double perSecond = figures[i];
            double top = 42 + i * 43;
            String color = i == own ? theme.own() : theme.other();
            double width = Math.max(1, perSecond / greatest * BAR_WIDTH);
            rectangle(LEFT, top, width, color);
            text(LEFT - 8, top + 18, "end", i == own ? color : theme.text(), i == own ? 700 : 400, 12, driver.label());
            text(LEFT + width + 7, top + 18, "start", theme.text(), 400, 12, number(perSecond));
        }
        return end();
    }

    private void rectangle(int x, double y, double width, String color) {
        svg.append(String.format(Locale.ROOT,
                "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"26\" rx=\"2\" fill=\"%s\"/>%n", x, y, width, color));
    }

    private static String number(double perSecond) {
        return String.format(Locale.ROOT, "%,.0f", perSecond).replace(',', ' ');
    }

    // ---- commands of a grant, by the number of waiting clients ------------------------------------------------------

    private static final List<Driver> VERSIONS = List.of(new Driver("redlock-1975f053", "before"),
            new Driver("redlock", "now"));
    private static final int CLIENTS_MIN = 2;
    private static final int CLIENTS_MAX = 512;
    private static final int[] COMMANDS = {10, 30, 100, 300};

    /** Both axes are logarithmic. */
    private String crowds() {
        start("Server commands for each grant, 3 nodes");
        for (int commands : COMMANDS) {
            svg.append(String.format(Locale.ROOT, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"%s\"/>%n",
                    crowdX(CLIENTS_MIN), commandsY(commands), crowdX(CLIENTS_MAX), theme.grid()));
            text(crowdX(CLIENTS_MIN) - 8, commandsY(commands) + 4, "end", theme.text(), 400, 11, number(commands));
        }
        for (int clients = CLIENTS_MIN; clients <= CLIENTS_MAX; clients *= 4) {
            text(crowdX(clients), 250, "middle", theme.text(), 400, 11,
                    clients == CLIENTS_MIN ? clients + " clients" : Integer.toString(clients));
        }
        VERSIONS.forEach(this::drawCrowds);
        return end();
    }

    /** Its label has the figure of its greatest number of clients. */
    private void drawCrowds(Driver version) {
        boolean isNow = version.id().equals("redlock");
        String color = isNow ? theme.own() : theme.other();
        StringBuilder path = new StringBuilder();
        double x = 0;
        double commands = 0;
        for (String[] row : rows) {
            if (row[0].equals(version.id())) {
                x = crowdX(Integer.parseInt(row[1]));
                commands = Double.parseDouble(row[columns.indexOf("commands")]);
                path.append(path.isEmpty() ? 'M' : 'L').append(String.format(Locale.ROOT, "%.1f %.1f", x,
                        commandsY(commands)));
            }
        }
        svg.append(String.format(Locale.ROOT, "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"/>%n",
                path, color, isNow ? "3" : "1.5"));
        text(x + 8, commandsY(commands) + 4, "start", isNow ? color : theme.text(), isNow ? 700 : 400, 12,
                version.label() + ", " + number(commands));
    }

    private static double crowdX(int clients) {
        return 62 + Math.log((double) clients / CLIENTS_MIN) / Math.log((double) CLIENTS_MAX / CLIENTS_MIN) * 288;
    }

    /** From 10 to 500 commands. */
    private static double commandsY(double commands) {
        return 232 - Math.log(commands / 10) / Math.log(50) * 185;
    }

    // ---- percentiles, a panel for each rate -------------------------------------------------------------------------

    private static final Pattern TAIL = Pattern.compile("(redlock|bare-sockets)-n(\\d+)-rate(\\d+)-all-acquire\\.hgrm");
    private static final int PANEL = 250;
    private static final int PANEL_LEFT = 54;
    private static final int PANEL_WIDTH = 178;
    private static final String[] NINES = {"0", "90 %", "99 %", "99.9", "99.99", "99.999"};

    /** Time against the share of acquires that were at least as fast; both axes are logarithmic. */
    private String tails(String folder) throws IOException {
        TreeMap<Integer, TreeMap<String, List<double[]>>> byRate = new TreeMap<>();
        int nodes = 0;
        try (Stream<Path> files = Files.list(Path.of(folder))) {
            for (Path file : files.toList()) {
                Matcher name = TAIL.matcher(file.getFileName().toString());
                if (name.matches()) {
                    nodes = Integer.parseInt(name.group(2));
                    byRate.computeIfAbsent(Integer.parseInt(name.group(3)), rate -> new TreeMap<>())
                            .put(name.group(1), curve(file));
                }
            }
        }
        start("Time to acquire, from the intended start, " + nodes + " nodes", byRate.size() * PANEL);
        int panel = 0;
        for (Integer rate : byRate.keySet()) {
            draw(panel++ * PANEL, rate, byRate.get(rate));
        }
        return end();
    }

    /** How many acquires there are for each slower one, and the time in us. */
    private static List<double[]> curve(Path file) throws IOException {
        List<double[]> points = new ArrayList<>();
        for (String line : Files.readAllLines(file)) {
            String[] words = line.strip().split("\\s+");
            if (words.length == 4 && words[0].matches("[0-9.]+") && !words[3].equals("Infinity")) {
                points.add(new double[]{Double.parseDouble(words[3]), Double.parseDouble(words[0])});
            }
        }
        return points;
    }

    private void draw(int left, int rate, TreeMap<String, List<double[]>> curves) {
        text(left + PANEL_LEFT, 40, "start", theme.text(), 400, 12, number(rate) + " locks/s");
        for (int us : new int[]{100, 1_000, 10_000, 100_000}) {
            svg.append(String.format(Locale.ROOT, "<path d=\"M%d %.1fh%d\" stroke=\"%s\"/>%n", left + PANEL_LEFT,
                    tailY(us), PANEL_WIDTH, theme.grid()));
            text(left + PANEL_LEFT - 6, tailY(us) + 4, "end", theme.text(), 400, 11, time(us));
        }
        for (int nine = 0; nine < NINES.length; nine += nine == 0 ? 2 : 1) {
            text(left + tailX(Math.pow(10, nine)), 250, "middle", theme.text(), 400, 9, NINES[nine]);
        }
        curves.forEach((client, points) -> {
            boolean isOwn = client.equals("redlock");
            StringBuilder path = new StringBuilder();
            for (double[] point : points) {
                if (point[1] > 0) {
                    path.append(path.isEmpty() ? 'M' : 'L').append(String.format(Locale.ROOT, "%.1f %.1f",
                            left + tailX(Math.min(point[0], 1e5)), tailY(point[1])));
                }
            }
            svg.append(String.format(Locale.ROOT, "<path d=\"%s\" fill=\"none\" stroke=\"%s\" "
                    + "stroke-width=\"%s\"/>%n", path, isOwn ? theme.own() : theme.other(), isOwn ? "2.5" : "1.5"));
            text(left + PANEL_LEFT + 4, isOwn ? 58 : 72, "start", isOwn ? theme.own() : theme.other(),
                    isOwn ? 700 : 400, 11, isOwn ? "redlock" : "bare sockets");
        });
    }

    /** A share of 1 - 1/n is log10(n) decades from the left. */
    private static double tailX(double oneOf) {
        return PANEL_LEFT + Math.log10(oneOf) / 5 * PANEL_WIDTH;
    }

    /** From 30 us to 200 ms. */
    private static double tailY(double us) {
        return 234 - Math.log(Math.max(us, 30) / 30) / Math.log(200_000.0 / 30) * 164;
    }
}
