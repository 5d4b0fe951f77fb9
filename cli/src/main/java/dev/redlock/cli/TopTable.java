package dev.redlock.cli;

import java.util.ArrayList;
import java.util.List;

/**
 * The held locks as lines of a given width.
 *
 * @threading any thread
 */
final class TopTable {

    private static final int WIDTH_MIN = 80;
    private static final int KIND_WIDTH = 10;
    private static final int NODES_WIDTH = 5;
    private static final int HOLDER_WIDTH = 16;
    private static final int EXPIRES_WIDTH = 7;
    private static final int WAITING_WIDTH = 7;
    private static final String GAP = "  ";
    private static final int OTHERS_WIDTH = KIND_WIDTH + NODES_WIDTH + EXPIRES_WIDTH + WAITING_WIDTH
            + 5 * GAP.length();
    private static final String ELLIPSIS = "...";

    private final int width;
    private final int nameWidth;
    private final int holderWidth;

    /** A narrower table would have no place for names: its lines are cut. */
    TopTable(int width) {
        this.width = width;
        int extra = Math.max(0, width - WIDTH_MIN);
        holderWidth = HOLDER_WIDTH + extra / 3;
        nameWidth = Math.max(width, WIDTH_MIN) - OTHERS_WIDTH - holderWidth;
    }

    /**
     * The lines of one refresh.
     *
     * @param time     of the refresh
     * @param rows     in their order
     * @param linesMax lines at most; the last one counts the locks that have no place
     */
    List<String> lines(String time, LockNodes nodes, LockWatch.Snapshot snapshot, List<TopRow> rows, int linesMax) {
        List<String> lines = new ArrayList<>();
        long awaited = rows.stream().filter(row -> row.waiterCount() > 0).count();
        lines.add(cut(time + "  " + Counted.of(rows.size(), "lock") + " held, " + awaited + " waited for, "
                + nodes.upCount() + " of " + Counted.of(nodes.nodes().size(), "node"), width));
        LocksText.problems(nodes).forEach(problem -> lines.add(end(problem)));
        if (snapshot.isIncomplete()) {
            lines.add(end("Not all keys are scanned yet: more locks may follow."));
        }
        if (snapshot.deniedCount() > 0) {
            lines.add(end(LocksText.denied(snapshot.deniedCount())));
        }
        if (snapshot.isCut()) {
            lines.add(end("There are more locks: give a longer --prefix, or a higher --limit."));
        }
        lines.add(line("KEY", "KIND", "NODES", "HOLDER", "EXPIRES", "WAITING"));
        int room = Math.max(0, linesMax - lines.size());
        int shown = rows.size() <= room ? rows.size() : Math.max(0, room - 1);
        for (TopRow row : rows.subList(0, shown)) {
            lines.add(line(row, nodes.nodes().size()));
        }
        if (shown < rows.size()) {
            lines.add(end("and " + (rows.size() - shown) + " more"));
        }
        return lines.size() <= linesMax ? lines : lines.subList(0, linesMax);
    }

    private String line(TopRow row, int nodeCount) {
        return line(row.name(), row.kind(), row.nodeCount() + "/" + nodeCount, row.holder(),
                LocksText.duration(row.remainingMs() == Long.MAX_VALUE ? KeyReading.NO_EXPIRY : row.remainingMs()),
                row.waiterCount() == 0 ? "-" : row.waiterCount() + (row.isAtLeast() ? "+" : ""));
    }

    private String line(String name, String kind, String count, String holder, String expires, String waiting) {
        String line = padded(cut(name, nameWidth), nameWidth) + GAP + padded(kind, KIND_WIDTH) + GAP
                + padded(count, NODES_WIDTH) + GAP + padded(cut(holder, holderWidth), holderWidth) + GAP
                + " ".repeat(Math.max(0, EXPIRES_WIDTH - expires.length())) + expires + GAP
                + " ".repeat(Math.max(0, WAITING_WIDTH - waiting.length())) + waiting;
        return end(line);
    }

    /** A sentence loses its end, which matters less than its start. */
    private String end(String text) {
        String line = text.stripTrailing();
        return columns(line) <= width ? line : start(line, width - ELLIPSIS.length()) + ELLIPSIS;
    }

    /** Names differ at both ends, so a long one loses its middle. */
    static String cut(String text, int columnsMax) {
        if (columns(text) <= columnsMax) {
            return text;
        }
        int kept = Math.max(0, columnsMax - ELLIPSIS.length());
        String reversed = new StringBuilder(text).reverse().toString();
        String tail = new StringBuilder(start(reversed, kept / 2)).reverse().toString();
        return start(text, kept - kept / 2) + ELLIPSIS + tail;
    }

    private static String start(String text, int columnsMax) {
        int end = 0;
        int columns = 0;
        while (end < text.length()) {
            int character = text.codePointAt(end);
            columns += columnsOf(character);
            if (columns > columnsMax) {
                break;
            }
            end += Character.charCount(character);
        }
        return text.substring(0, end);
    }

    private static String padded(String text, int columns) {
        return text + " ".repeat(Math.max(0, columns - columns(text)));
    }

    static int columns(String text) {
        return text.codePoints().map(TopTable::columnsOf).sum();
    }

    /** Terminals show the characters of East Asia and emoji in two columns, and marks above the character before. */
    private static int columnsOf(int character) {
        int type = Character.getType(character);
        if (type == Character.NON_SPACING_MARK || type == Character.ENCLOSING_MARK) {
            return 0;
        }
        boolean isWide = character >= 0x1100 && character <= 0x115F || character >= 0x2E80 && character <= 0xA4CF
                || character >= 0xAC00 && character <= 0xD7A3 || character >= 0xF900 && character <= 0xFAFF
                || character >= 0xFE30 && character <= 0xFE6F || character >= 0xFF00 && character <= 0xFF60
                || character >= 0xFFE0 && character <= 0xFFE6 || character >= 0x1F300 && character <= 0x1FAFF
                || character >= 0x20000 && character <= 0x3FFFD;
        return isWide ? 2 : 1;
    }
}
