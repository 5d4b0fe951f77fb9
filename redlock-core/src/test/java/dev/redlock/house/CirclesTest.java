package dev.redlock.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Types, or packages, of which each needs all others: none of them can be read, tested or replaced alone. The recorded
 * figures only go down: a change that makes a circle smaller records the new figure here.
 */
class CirclesTest {

    /** The types of the largest circle. The goal is 12. */
    private static final int TYPES = 12;
    /** The packages in all circles. The goal is 0. */
    private static final int PACKAGES = 0;

    private static final Pattern TYPE = Pattern.compile("^   (\\S+)\\s+-> .*");
    private static final Pattern NEEDED = Pattern.compile("^\\s.*-> (\\S+)\\s.*");

    @TempDir
    private static Path folder;
    private static Map<String, Set<String>> types;

    @BeforeAll
    static void readTheClasses() throws Exception {
        types = types(Path.of(Redlock.class.getProtectionDomain().getCodeSource().getLocation().toURI()));
        assertTrue(types.size() > 100, () -> types.keySet().toString());
    }

    /** Each type of the module with the others of the module that its code names; nested ones count as their outer. */
    private static Map<String, Set<String>> types(Path classes) throws Exception {
        try (Stream<Path> files = Files.walk(classes)) {
            for (Path file : files.filter(one -> one.toString().endsWith(".class")).toList()) {
                // Without this one, jdeps does not ask for the modules that it requires.
                if (!file.endsWith("module-info.class")) {
                    Path copy = folder.resolve(classes.relativize(file).toString());
                    Files.createDirectories(copy.getParent());
                    Files.copy(file, copy);
                }
            }
        }
        StringWriter said = new StringWriter();
        PrintWriter out = new PrintWriter(said);
        int code = ToolProvider.findFirst("jdeps")
                .orElseThrow()
                .run(out, out, "-verbose:class", "-filter:none", "--ignore-missing-deps", folder.toString());
        assertEquals(0, code, said::toString);
        return parsed(said.toString());
    }

    private static Map<String, Set<String>> parsed(String jdeps) {
        Map<String, Set<String>> needs = new TreeMap<>();
        String type = null;
        for (String line : jdeps.lines().toList()) {
            Matcher first = TYPE.matcher(line);
            if (first.matches()) {
                type = outer(first.group(1));
                needs.computeIfAbsent(type, name -> new TreeSet<>());
            }
            Matcher needed = NEEDED.matcher(line);
            if (type != null && needed.matches()) {
                needs.get(type).add(outer(needed.group(1)));
            }
        }
        needs.values().forEach(all -> all.retainAll(needs.keySet()));
        return needs;
    }

    private static String outer(String name) {
        return name.replaceAll("\\$.*", "");
    }

    private static Map<String, Set<String>> packages(Map<String, Set<String>> types) {
        Map<String, Set<String>> needs = new TreeMap<>();
        types.forEach((type, others) -> others.forEach(
                other -> needs.computeIfAbsent(packageOf(type), name -> new TreeSet<>()).add(packageOf(other))));
        return needs;
    }

    private static String packageOf(String type) {
        return type.substring(0, type.lastIndexOf('.'));
    }

    /** The sets of more than one in which each reaches each. */
    private static Set<Set<String>> circles(Map<String, Set<String>> needs) {
        Map<String, Set<String>> reached = new TreeMap<>();
        needs.keySet().forEach(one -> reached.put(one, reached(one, needs)));
        return needs.keySet()
                .stream()
                .map(one -> reached.get(one)
                        .stream()
                        .filter(other -> reached.getOrDefault(other, Set.of()).contains(one))
                        .collect(Collectors.toCollection(TreeSet::new)))
                .filter(circle -> circle.size() > 1)
                .collect(Collectors.toSet());
    }

    private static Set<String> reached(String from, Map<String, Set<String>> needs) {
        Set<String> reached = new TreeSet<>();
        Deque<String> next = new ArrayDeque<>(Set.of(from));
        while (!next.isEmpty()) {
            needs.getOrDefault(next.remove(), Set.of()).stream().filter(reached::add).forEach(next::add);
        }
        return reached;
    }

    @Test
    void circlesOfTypesOnlyGetSmaller() {
        Set<String> largest = circles(types).stream().max(Comparator.comparingInt(Set::size)).orElse(Set.of());
        assertEquals(TYPES, largest.size(), () -> "record a smaller figure, undo what made it larger: " + largest);
    }

    @Test
    void circlesOfPackagesOnlyGetSmaller() {
        Set<Set<String>> all = circles(packages(types));
        assertEquals(PACKAGES, all.stream().mapToInt(Set::size).sum(),
                () -> "record a smaller figure, undo what made it larger: " + all);
    }

    @Test
    void findsCircles() {
        assertEquals(Set.of(Set.of("a", "b", "c"), Set.of("f", "g")), circles(Map.of("a", Set.of("b"), "b",
                Set.of("c", "d"), "c", Set.of("a"), "d", Set.of("d", "f"), "f", Set.of("g"), "g", Set.of("f"))));
    }

    @Test
    void nestedTypesCountAsTheirOuterOne() {
        assertEquals(Map.of("p.A", Set.of("q.B"), "q.B", Set.of("p.A", "q.B")), parsed("""
                classes -> java.base
                   p.A$Inner    -> java.lang.Object    java.base
                                -> q.B$Inner           classes
                   q.B          -> p.A                 classes
                                -> q.B$Inner           classes
                """));
    }
}
