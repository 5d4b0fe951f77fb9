package dev.redlock.loadtest.docs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One fenced block of a Markdown file, and what the HTML comments on the lines right above it say: {@code <!-- given:
 * Redlock redlock -->}. CONTRIBUTING.md explains them; any other comment there is an error, since it may be a slip.
 *
 * @param place    file and line, for people
 * @param language the text behind the opening fence, possibly empty
 * @param notes    of the comments, by the word before the colon
 * @param lines    between the fences
 */
public record DocBlock(String place, String language, Map<String, String> notes, List<String> lines) {
    /** The variables that a block of statements uses. */
    static final String GIVEN = "given";
    /** Which of them a block may leave uncalled. */
    static final String MAY_STAY_IDLE = "may stay idle";
    /** Why a block is not run. */
    public static final String NOT_RUN = "not run";

    /** The project whose tests compile and run a block, which needs libraries of other projects. */
    static final String TESTED_BY = "tested by";

    private static final Set<String> KNOWN = Set.of(GIVEN, MAY_STAY_IDLE, NOT_RUN, TESTED_BY);
    private static final Pattern NOTE = Pattern.compile("<!-- ([^:]*): (.*) -->");
    private static final String FENCE = "```";

    public static List<DocBlock> in(Path file) throws IOException {
        List<DocBlock> blocks = new ArrayList<>();
        List<String> lines = Files.readAllLines(file);
        for (int i = 0; i < lines.size(); i++) {
            if (lines.get(i).startsWith(FENCE)) {
                int end = endOf(lines, i, file);
                blocks.add(new DocBlock(file.getFileName() + ":" + (i + 1), lines.get(i).substring(FENCE.length()),
                        notesAbove(lines, i, file), List.copyOf(lines.subList(i + 1, end))));
                i = end;
            }
        }
        return blocks;
    }

    private static int endOf(List<String> lines, int start, Path file) {
        for (int i = start + 1; i < lines.size(); i++) {
            if (lines.get(i).strip().equals(FENCE)) {
                return i;
            }
        }
        throw new AssertionError(file + ":" + (start + 1) + ": the block has no end");
    }

    private static Map<String, String> notesAbove(List<String> lines, int fence, Path file) {
        Map<String, String> notes = new LinkedHashMap<>();
        for (int i = fence - 1; i >= 0 && lines.get(i).startsWith("<!--"); i--) {
            Matcher note = NOTE.matcher(lines.get(i));
            if (!note.matches() || !KNOWN.contains(note.group(1))) {
                throw new AssertionError(file.getFileName() + ":" + (i + 1) + ": " + lines.get(i)
                        + ": right above a block, expected <!-- KEY: VALUE --> with a key out of " + KNOWN);
            }
            notes.put(note.group(1), note.group(2));
        }
        return notes;
    }

    /** One line for each command: continued lines joined, comments gone. */
    public List<String> commands() {
        String joined = String.join("\n", lines).replaceAll("\\\\\n *", "");
        return joined.lines()
                .map(line -> line.replaceFirst("(^| +)#.*", "").strip())
                .filter(c -> !c.isEmpty())
                .toList();
    }

    String note(String key) {
        return notes.getOrDefault(key, "");
    }

    public boolean isRun() {
        return !notes.containsKey(NOT_RUN);
    }

    public String text() {
        return String.join("\n", lines);
    }
}
