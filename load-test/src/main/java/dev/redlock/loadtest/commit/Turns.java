package dev.redlock.loadtest.commit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The figures of all turns, for medians, and as a CSV file.
 *
 * @threading caller-confined
 */
final class Turns {

    private static final String HEAD = "n,commands,in flight,contender,phase,number,";

    private final List<Turn> all = new ArrayList<>();

    /**
     * A turn, or a second of the warm-up.
     *
     * @param load    the nodes, the commands and the cycles in flight
     * @param figures {@link ClosedLoop#FIGURES}
     * @threading immutable
     */
    record Turn(String load, String contender, String phase, int number, double[] figures) {
        @Override
        public String toString() {
            return String.join(",", load, contender, phase, Integer.toString(number),
                    joined(Arrays.stream(figures).boxed()));
        }
    }

    static String joined(Stream<?> parts) {
        return parts.map(Object::toString).collect(Collectors.joining(","));
    }

    void add(String load, String contender, String phase, int number, double[] figures) {
        all.add(new Turn(load, contender, phase, number, figures));
    }

    Stream<Turn> of(String load, String contender, String phase) {
        return all.stream()
                .filter(turn -> turn.load.equals(load) && turn.contender.equals(contender) && turn.phase.equals(phase));
    }

    /** The median of one figure. */
    static double median(Stream<double[]> all, int figure) {
        double[] sorted = all.mapToDouble(one -> one[figure]).sorted().toArray();
        return sorted[sorted.length / 2];
    }

    void write(Path file) throws IOException {
        String head = (HEAD + joined(ClosedLoop.FIGURES.stream())).replace(' ', '_');
        Files.write(file, Stream.concat(Stream.of(head), all.stream().map(Turn::toString)).toList());
    }
}
