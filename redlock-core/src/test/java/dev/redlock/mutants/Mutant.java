package dev.redlock.mutants;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A wrong variant of one source file. A list of mutants is a text: each has a name, a file of the module, the names of
 * the tests or runs that must find it, and hunks. Files and test classes have no folder and no package: {@link
 * SourceFiles} finds them. A hunk is the old text, each line after {@code -}, and the new text,
 * each line after {@code +}. A hunk starts at a {@code -} that follows a {@code +}, or after a line {@code @}. A blank
 * line ends a mutant, and {@code #} starts a comment.
 *
 * @param name     its name
 * @param file     the name of the file, without its folder
 * @param killedBy the tests or the runs that must find it
 * @param hunks    its changes
 */
public record Mutant(String name, String file, List<String> killedBy, List<Hunk> hunks) {
    private static final Pattern FIELD = Pattern.compile("(name|file|killed by): (.+)");

    /** One change. */
    record Hunk(String oldText, String newText) {
        long countIn(String source) {
            return Pattern.compile(oldText, Pattern.LITERAL).matcher(source).results().count();
        }
    }

    /** The mutants of a resource beside this class. */
    public static List<Mutant> list(String resource) throws IOException {
        try (InputStream in = Objects.requireNonNull(Mutant.class.getResourceAsStream(resource), resource)) {
            return parse(new String(in.readAllBytes(), StandardCharsets.UTF_8));
        }
    }

    static List<Mutant> parse(String text) {
        List<Mutant> mutants = new ArrayList<>();
        Parser parser = new Parser();
        for (String line : (text + "\n\n").split("\n", -1)) {
            if (!line.isBlank()) {
                parser.add(line);
            } else if (!parser.name.isEmpty()) {
                mutants.add(parser.mutant());
                parser = new Parser();
            }
        }
        return mutants;
    }

    /** Whether its file is a Lua script. */
    public boolean isOfScript() {
        return file.endsWith(".lua");
    }

    /** The source with all changes; each old text must occur exactly once. */
    public String applyTo(String source) {
        String changed = source;
        for (Hunk hunk : hunks) {
            long count = hunk.countIn(source);
            if (count != 1) {
                throw new IllegalStateException(
                        name + ": " + file + " has this text " + count + " times:\n" + hunk.oldText);
            }
            changed = changed.replace(hunk.oldText, hunk.newText);
        }
        return changed;
    }

    /** The lines of one mutant. */
    private static final class Parser {
        private final List<Hunk> hunks = new ArrayList<>();
        private final List<String> oldLines = new ArrayList<>();
        private final List<String> newLines = new ArrayList<>();
        private String name = "";
        private String file = "";
        private String killedBy = "";

        void add(String line) {
            String text = line.substring(1);
            switch (line.charAt(0)) {
                case '#' -> {
                    // A comment.
                }
                case '-' -> {
                    if (!newLines.isEmpty()) {
                        endHunk();
                    }
                    oldLines.add(text);
                }
                case '+' -> newLines.add(text);
                case '@' -> endHunk();
                default -> addField(line);
            }
        }

        private void addField(String line) {
            Matcher field = FIELD.matcher(line);
            if (!field.matches()) {
                throw new IllegalStateException("neither a field nor a change: " + line);
            }
            switch (field.group(1)) {
                case "name" -> name = field.group(2);
                case "file" -> file = field.group(2);
                default -> killedBy = field.group(2);
            }
        }

        private void endHunk() {
            if (oldLines.isEmpty()) {
                throw new IllegalStateException(name + ": a hunk without old text");
            }
            hunks.add(new Hunk(String.join("\n", oldLines), String.join("\n", newLines)));
            oldLines.clear();
            newLines.clear();
        }

        Mutant mutant() {
            endHunk();
            if (file.isEmpty() || killedBy.isEmpty()) {
                throw new IllegalStateException(name + " has no file or nothing that kills it");
            }
            return new Mutant(name, file, List.of(killedBy.split(", ")), List.copyOf(hunks));
        }
    }
}
