package dev.redlock.mutants;

import dev.redlock.node.send.CommandKind;
import dev.redlock.sim.ScriptNames;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Wrong variants of all Lua scripts and their parts, made by rule: each operator, number, condition, command, option
 * and statement of each line is changed, one at a time.
 */
public final class ScriptMutations {

    /** One line of a file, from 0, and the line that replaces it. */
    public record Mutation(String file, int line, String oldLine, String newLine) {

        /** Whether {@code script-survivors.txt} says why no case finds it. */
        public boolean isKnownSurvivor() {
            return SURVIVORS.contains(survivor());
        }

        String survivor() {
            return ScriptMutations.survivor(file, oldLine, newLine);
        }

        /** The source of a script with this change. */
        public String applyTo(String script) {
            return assemble(script, name -> {
                String text = read(name);
                if (!name.equals(file)) {
                    return text;
                }
                List<String> lines = new ArrayList<>(List.of(text.split("\n", -1)));
                lines.set(line, newLine);
                return String.join("\n", lines);
            });
        }

        @Override
        public String toString() {
            return file + ".lua:" + (line + 1) + ":\n-" + oldLine + "\n+" + newLine;
        }
    }

    /** What a rule makes of one match. */
    private record Rule(Pattern found, boolean isInQuotes, Function<MatchResult, List<String>> made) {
        static Rule of(String regex, String... made) {
            return new Rule(Pattern.compile(regex), false, match -> List.of(made));
        }

        static Rule ofText(String regex, String... made) {
            return new Rule(Pattern.compile(regex), true, match -> List.of(made));
        }
    }

    private static final Pattern INCLUDE = Pattern.compile("--include (\\w+)\n");
    private static final Pattern QUOTED = Pattern.compile("'[^']*'");
    private static final Pattern CONDITION = Pattern.compile("(\\s*(?:else)?if |\\s*while )(.*)( then| do)");
    private static final Pattern RETURN = Pattern.compile("(\\s*return )(.+)");
    private static final Pattern STATEMENT = Pattern
            .compile("\\s*(redis\\.|return |break$|\\w[\\w.\\[\\] +#]*(, \\w+)* = ).*");
    private static final List<Rule> RULES = List.of(
            Rule.of("(?<![<>=~])<(?!=)", "<="), Rule.of("<=", "<"),
            Rule.of("(?<![<>=~])>(?!=)", ">="), Rule.of(">=", ">"),
            Rule.of("==", "~="), Rule.of("~=", "=="),
            Rule.of(" and ", " or "), Rule.of(" or ", " and "), Rule.of("\\bnot ", ""),
            Rule.of(" \\+ ", " - "), Rule.of(" - ", " + "), Rule.of(" \\* ", " + "), Rule.of(" / ", " * "),
            Rule.of(" % ", " + "), Rule.of("(?<=return |[(=,] ?)-(?=[\\w(#])", ""),
            Rule.of("math\\.max", "math.min"), Rule.of("math\\.min", "math.max"), Rule.of("math\\.floor", "math.ceil"),
            Rule.of("\\btrue\\b", "false"), Rule.of("\\bfalse\\b", "true"),
            Rule.of("redis\\.call", "redis.pcall"), Rule.of("redis\\.pcall", "redis.call"),
            Rule.of("\\[i\\]", "[1]"), Rule.of("\\[first\\]", "[1]"),
            new Rule(Pattern.compile("(?<![\\w.'%])\\d+(?![\\w'])"), false, match -> {
                long number = Long.parseLong(match.group());
                return List.of(Long.toString(number + 1), Long.toString(number - 1));
            }),
            Rule.ofText("'NX', |, 'NX'", ""), Rule.ofText(", 'GT'", ""),
            Rule.ofText(", 'PX', (ARGV\\[.*?\\]|ttl|300)", ""),
            Rule.ofText("'PX'", "'EX'"), Rule.ofText("'PEXPIRE'", "'EXPIRE'"), Rule.ofText("'PTTL'", "'TTL'"),
            Rule.ofText("'PEXPIREAT'", "'EXPIREAT'"));

    private static final Set<String> SURVIVORS = readSurvivors();

    private ScriptMutations() {
    }

    private static String survivor(String file, String oldLine, String newLine) {
        return file + "\n-" + oldLine + "\n+" + newLine;
    }

    /** Each as a text of three lines: the file, the line, and the wrong line. */
    static Set<String> survivors() {
        return SURVIVORS;
    }

    private static Set<String> readSurvivors() {
        Set<String> all = new LinkedHashSet<>();
        String why = "";
        String file = "";
        String oldLine = "";
        for (String line : text(ScriptMutations.class, "script-survivors.txt").split("\n")) {
            if (line.startsWith("why: ")) {
                why = line;
            } else if (line.startsWith("file: ")) {
                file = line.substring("file: ".length());
            } else if (line.startsWith("-")) {
                oldLine = line.substring(1);
            } else if (line.startsWith("+")
                    && (why.isEmpty() || !all.add(survivor(file, oldLine, line.substring(1))))) {
                throw new IllegalStateException("without a reason, or twice: " + file + ": " + line);
            }
        }
        return all;
    }

    /** The scripts, each with the files of which it is made. */
    public static Map<String, Set<String>> scripts() {
        Map<String, Set<String>> all = new TreeMap<>();
        for (String script : ScriptNames.all()) {
            Set<String> files = new TreeSet<>();
            assemble(script, name -> {
                files.add(name);
                return read(name);
            });
            all.put(script, files);
        }
        return all;
    }

    /** All mutations. */
    public static List<Mutation> all() {
        Set<String> files = new TreeSet<>();
        scripts().values().forEach(files::addAll);
        List<Mutation> made = new ArrayList<>();
        for (String file : files) {
            List<String> lines = List.of(read(file).split("\n", -1));
            for (int i = 0; i < lines.size(); i++) {
                String line = lines.get(i);
                if (!line.strip().startsWith("--")) {
                    for (String other : othersOf(line)) {
                        made.add(new Mutation(file, i, line, other));
                    }
                }
            }
        }
        return made;
    }

    private static Set<String> othersOf(String line) {
        Set<String> others = new LinkedHashSet<>();
        Matcher condition = CONDITION.matcher(line);
        if (condition.matches()) {
            for (String other : List.of("true", "false", "not (" + condition.group(2) + ")")) {
                others.add(condition.group(1) + other + condition.group(3));
            }
        }
        Matcher returned = RETURN.matcher(line);
        if (returned.matches()) {
            for (String other : List.of("0", "1", "2", "-1")) {
                others.add(returned.group(1) + other);
            }
        }
        if (STATEMENT.matcher(line).matches()) {
            others.add(line.startsWith("local ") ? line.replaceFirst(" = .*", "") : "");
        }
        RULES.forEach(rule -> apply(rule, line, others));
        others.remove(line);
        return others;
    }

    private static void apply(Rule rule, String line, Set<String> others) {
        List<MatchResult> quoted = QUOTED.matcher(line).results().toList();
        rule.found.matcher(line).results().forEach(match -> {
            boolean isQuoted = quoted.stream()
                    .anyMatch(text -> text.start() < match.start() && match.start() < text.end());
            if (!isQuoted) {
                for (String text : rule.made.apply(match)) {
                    others.add(line.substring(0, match.start()) + text + line.substring(match.end()));
                }
            }
        });
    }

    private static String assemble(String script, Function<String, String> texts) {
        return INCLUDE.matcher(texts.apply(script))
                .replaceAll(part -> Matcher.quoteReplacement(texts.apply(part.group(1))));
    }

    private static String read(String name) {
        return text(CommandKind.class, name + ".lua");
    }

    private static String text(Class<?> neighbour, String name) {
        try (InputStream in = Objects.requireNonNull(neighbour.getResourceAsStream(name), name)) {
            return new String(in.readAllBytes(), StandardCharsets.US_ASCII);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
