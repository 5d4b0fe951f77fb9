package dev.redlock.cli;

import dev.redlock.engine.LockValue;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Locks as tables of at most 80 columns for people.
 *
 * @threading any thread
 */
final class LocksText {

    private static final int NAME_WIDTH_MAX = 26;
    private static final int HOLDER_WIDTH_MAX = 20;
    private static final int MS_PER_S = 1000;

    private LocksText() {
    }

    static String duration(long ms) {
        if (ms == KeyReading.NO_EXPIRY) {
            return "never";
        }
        if (ms < MS_PER_S) {
            return ms + " ms";
        }
        return ms < 10 * MS_PER_S ? String.format(Locale.ROOT, "%.1f s", ms / 1e3) : ms / MS_PER_S + " s";
    }

    static String votes(LockView view, LockValue value) {
        return view.holders().get(value).size() + " of " + view.readings().size();
    }

    static String stateText(LockView view, LockValue value) {
        return switch (view.stateOf(value)) {
            case HELD -> "held";
            case UNCLEAR -> "unclear";
            case NO_QUORUM -> "no quorum";
        };
    }

    static String holder(LockValue value) {
        return value.holder() == null ? "-" : value.holder();
    }

    /** The nodes that do not answer, or not for each key, one line each. */
    static void printProblems(PrintWriter out, LockNodes nodes) {
        problems(nodes).forEach(out::println);
    }

    static List<String> problems(LockNodes nodes) {
        return nodes.nodes()
                .stream()
                .filter(node -> node.problem() != null)
                .map(node -> (node.isUp() ? "node " : "no answer from ") + node.address() + ": " + node.problem())
                .toList();
    }

    /** The line about keys of a scan that the user may not read; it has room in 80 columns. */
    static String denied(int count) {
        return "Left out: " + Counted.of(count, "key") + " that the user may not read; give the prefix of your locks.";
    }

    static void printList(PrintWriter out, LockNodes.Listing listing, boolean areValuesShown) {
        List<String[]> rows = new ArrayList<>();
        rows.add(new String[]{"KEY", "NODES", "STATE", "HOLDER", "ID", "EXPIRES"});
        List<List<String>> below = new ArrayList<>();
        below.add(List.of());
        for (LockView view : listing.locks()) {
            addRows(view, rows, below, areValuesShown);
        }
        List<String> lines = table(rows);
        for (int i = 0; i < rows.size(); i++) {
            out.println(lines.get(i));
            below.get(i).forEach(text -> out.println("    " + text));
        }
    }

    private static void addRows(LockView view, List<String[]> rows, List<List<String>> below,
            boolean areValuesShown) {
        List<String> notes = new ArrayList<>(view.notes());
        if (view.fence() != null) {
            notes.add(0, "fencing counter " + view.fence());
        }
        Map<LockValue, List<Integer>> holders = view.holders();
        if (holders.isEmpty()) {
            rows.add(new String[]{view.shownName(), "-", "-", "-", "-", "-"});
            below.add(notes);
            return;
        }
        String name = view.shownName();
        for (LockValue value : holders.keySet()) {
            List<String> lines = new ArrayList<>(name.isEmpty() ? List.of() : notes);
            if (value.holder() != null && value.holder().length() > HOLDER_WIDTH_MAX) {
                lines.add("held by " + value.holder());
            }
            if (areValuesShown) {
                lines.add("value of " + value.id() + ": " + value.hex());
            }
            rows.add(new String[]{name, votes(view, value), stateText(view, value),
                cut(holder(value), HOLDER_WIDTH_MAX), value.id(), duration(view.remainingMs(value))});
            below.add(lines);
            name = "";
        }
    }

    static String cut(String text, int lengthMax) {
        return text.length() <= lengthMax ? text : text.substring(0, lengthMax - 3) + "...";
    }

    static List<String> table(List<String[]> rows) {
        int[] widths = widths(rows);
        return rows.stream().map(row -> line(row, widths)).toList();
    }

    private static int[] widths(List<String[]> rows) {
        int[] widths = new int[rows.get(0).length];
        for (String[] row : rows) {
            for (int c = 0; c < row.length; c++) {
                widths[c] = Math.max(widths[c], c == 0 && row[c].length() > NAME_WIDTH_MAX ? 0 : row[c].length());
            }
        }
        return widths;
    }

    /** A name that is too long gets a line of its own: people copy it into the next command. */
    private static String line(String[] row, int[] widths) {
        StringBuilder text = new StringBuilder();
        if (row[0].length() > widths[0]) {
            text.append(row[0]).append(System.lineSeparator()).append(" ".repeat(widths[0]));
        } else {
            text.append(padded(row[0], widths[0]));
        }
        for (int c = 1; c < row.length; c++) {
            text.append("  ").append(padded(row[c], widths[c]));
        }
        return text.toString().stripTrailing();
    }

    private static String padded(String text, int width) {
        return text + " ".repeat(Math.max(0, width - text.length()));
    }

    /** One lock, node by node. */
    static void printOne(PrintWriter out, LockView view, LockNodes nodes, boolean areValuesShown) {
        Map<LockValue, List<Integer>> holders = view.holders();
        if (view.isFree()) {
            out.println(view.shownName() + ": free on " + nodes.upCount() + " of "
                    + Counted.of(nodes.nodes().size(), "node"));
        }
        for (LockValue value : holders.keySet()) {
            out.println(view.shownName() + ": " + stateText(view, value) + ", " + holders.get(value).size() + " of "
                    + Counted.of(view.readings().size(), "node")
                    + (value.holder() == null ? ", holder without a name" : ", by " + value.holder()));
            out.println("    id " + value.id() + ", expires: " + duration(view.remainingMs(value))
                    + (view.remainingMs(value) == KeyReading.NO_EXPIRY ? "" : " from now, unless it is extended"));
            if (areValuesShown) {
                out.println("    value " + value.hex());
            }
        }
        view.notes().forEach(note -> out.println("    " + note));
        out.println();
        List<String[]> rows = new ArrayList<>();
        rows.add(new String[]{"NODE", "ID", "EXPIRES", "FENCING COUNTER"});
        for (int i = 0; i < nodes.nodes().size(); i++) {
            rows.add(nodeRow(nodes.nodes().get(i), view.readings().get(i)));
        }
        table(rows).forEach(out::println);
    }

    private static String[] nodeRow(LockNode node, KeyReading reading) {
        String address = node.address().toString();
        if (reading == null) {
            return new String[]{address, "no answer", "?", "?"};
        }
        String fence = reading.fence() == null ? "-" : reading.fence();
        if (reading.value() == null) {
            return new String[]{address, reading.problem() == null ? "-" : "no lock", "-", fence};
        }
        return new String[]{address, reading.value().id(), duration(reading.ttlMs()), fence};
    }
}
