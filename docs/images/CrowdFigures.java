import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Writes the figures of {@code load-test contention} with several numbers of clients to the file of a page.
 *
 * <pre>
 * java docs/images/CrowdFigures.java FOLDER_OF_THE_RUN docs/internals/figures/crowds.csv
 * </pre>
 *
 * The rows of other runs stay, those of an earlier version: a comment in the file names their driver.
 */
public final class CrowdFigures {
    private static final String COLUMNS = "driver,clients,grants_per_s,commands,idle_commands,cpu_us,idle_cpu_us,"
            + "longest_wait_ms,jain,never";
    /** A comment about the rows of a driver that another run has measured. */
    private static final Pattern OTHERS = Pattern.compile("# Rows of ([^:]+): .*");

    private static final DateTimeFormatter DAY = DateTimeFormatter.ofPattern("d MMMM yyyy", Locale.ENGLISH)
            .withZone(ZoneOffset.UTC);

    private final List<String> columns;
    private final List<String[]> series = new ArrayList<>();
    private final String json;

    private CrowdFigures(Path run) throws IOException {
        List<String> lines = Files.readAllLines(run.resolve("series.csv"));
        columns = List.of(lines.get(0).split(","));
        lines.stream().skip(1).forEach(line -> series.add(line.split(",", -1)));
        json = Files.readString(run.resolve("results.json"));
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        CrowdFigures figures = new CrowdFigures(Path.of(args[0]));
        Path file = Path.of(args[1]);
        List<String> before = Files.exists(file) ? Files.readAllLines(file) : List.of();
        Files.write(file, figures.merge(before));
    }

    private List<String> merge(List<String> before) throws IOException, InterruptedException {
        List<Matcher> others = before.stream().map(OTHERS::matcher).filter(Matcher::matches).toList();
        List<String> kept = others.stream().map(other -> other.group(1)).toList();
        List<String> lines = new ArrayList<>(List.of(
                "# " + text("commandLine").replaceAll(" --output [^ ]+", ""),
                "# Recorded by commit " + commit() + ", " + DAY.format(Instant.parse(text("startedAt"))) + ". "
                        + text("servers\" : \\[ *").replace("redis", "Redis")
                        + ", loopback TCP, N = " + cell(series.get(0), "nodes") + ".",
                "# Machine: virtual, " + number("cores") + " processors (" + text("cpu") + ") for clients and servers "
                        + "together. JDK " + text("java").split("[ +]")[0] + ".",
                "# Commands and CPU of all servers for each grant; idle: while the same clients are connected and lock "
                        + "nothing. Commands without INFO."));
        others.forEach(other -> lines.add(other.group()));
        lines.add(COLUMNS);
        before.stream().filter(line -> kept.contains(line.split(",")[0])).forEach(lines::add);
        series.forEach(row -> lines.add(String.join(",", cell(row, "driver"), cell(row, "inFlight"),
                rounded(row, "cyclesPerSecond", 1, 1), rounded(row, "figures.serverCommandsPerGrant", 1, 1),
                rounded(row, "figures.serverIdleCommandsPerGrant", 1, 2),
                rounded(row, "figures.serverCpuUsPerGrant", 1, 0),
                rounded(row, "figures.serverIdleCpuUsPerGrant", 1, 0), rounded(row, "acquire.maxUs", 1e-3, 0),
                rounded(row, "figures.jainIndex", 1, 3), rounded(row, "figures.neverServed", 1, 0))));
        return lines;
    }

    private String cell(String[] row, String column) {
        return columns.contains(column) ? row[columns.indexOf(column)] : "";
    }

    /** Empty for a figure that the run does not have. */
    private String rounded(String[] row, String column, double unit, int digits) {
        String figure = cell(row, column);
        return figure.isEmpty()
                ? ""
                : String.format(Locale.ROOT, "%." + digits + "f", Double.parseDouble(figure) * unit);
    }

    private String text(String name) {
        return find("\"" + name + (name.contains("\"") ? "" : "\" : ") + "\"([^\"]*)\"");
    }

    private String number(String name) {
        return find("\"" + name + "\" : ([0-9]+)");
    }

    private String find(String pattern) {
        Matcher matcher = Pattern.compile(pattern).matcher(json);
        if (!matcher.find()) {
            throw new IllegalStateException("results.json has no " + pattern);
        }
        return matcher.group(1);
    }

    private static String commit() throws IOException, InterruptedException {
        Process git = new ProcessBuilder("git", "rev-parse", "--short=8", "HEAD").start();
        String said = new String(git.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        if (git.waitFor() != 0) {
            throw new IOException("git rev-parse failed: run this in the folder of the project");
        }
        return said;
    }
}
