package dev.redlock.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * How the parts of the engine get to know each other. A constructor passes its half-built object to no other one, and
 * uses no object that its {@code connect} has still to complete. So no part ever sees another without its
 * fields, in whatever order a change wires them.
 */
class WiringTest {

    private static final Pattern TYPE = Pattern
            .compile("^(?:[a-z]+ )*(?:class|interface|enum) (dev\\.redlock\\.[\\w.$]+).*");
    private static final Pattern CALL = Pattern
            .compile(".*invoke(?:special|virtual|interface) .*Method ([^:]+):(\\S+)");
    private static final Pattern READ = Pattern.compile(".*getfield .*Field ([\\w/$]+)\\.\\w+:.*");
    private static final Pattern CONNECTED = Pattern.compile("^  .*\\bconnect\\(.+\\).*");

    private static String javap;

    @BeforeAll
    static void readTheClasses() throws Exception {
        Path classes = Path.of(Redlock.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        List<String> arguments = new ArrayList<>(List.of("-c", "-p"));
        try (Stream<Path> files = Files.list(classes.resolve("dev/redlock/engine"))) {
            files.map(Path::toString).filter(name -> name.endsWith(".class")).sorted().forEach(arguments::add);
        }
        assertTrue(arguments.size() > 100, arguments::toString);
        StringWriter said = new StringWriter();
        PrintWriter out = new PrintWriter(said);
        int code = ToolProvider.findFirst("javap").orElseThrow().run(out, out, arguments.toArray(String[]::new));
        javap = said.toString();
        assertEquals(0, code, javap);
    }

    /** The constructors that pass their object to another one, or connect it themselves. */
    private static List<String> handedOut(String code) {
        List<String> found = new ArrayList<>();
        forEachLine(code, (type, isConstructor, line) -> {
            Matcher call = CALL.matcher(line);
            if (!isConstructor || !call.matches()) {
                return;
            }
            boolean isOwn = call.group(1).equals("connect");
            boolean isConstructed = call.group(1).endsWith(".\"<init>\"");
            if (isOwn || isConstructed && call.group(2).contains("L" + type + ";")) {
                found.add(type + " to " + call.group(1));
            }
        });
        return found;
    }

    /** The constructors that read a field, or call a method, of an object that is completed later. */
    private static List<String> usedTooEarly(String code) {
        Set<String> completedLater = new TreeSet<>();
        forEachLine(code, (type, isConstructor, line) -> {
            if (CONNECTED.matcher(line).matches()) {
                completedLater.add(type);
            }
        });
        List<String> found = new ArrayList<>();
        forEachLine(code, (type, isConstructor, line) -> {
            Matcher call = CALL.matcher(line);
            Matcher read = READ.matcher(line);
            String used = call.matches() ? call.group(1).replaceAll("\\..*", "") : read.matches() ? read.group(1) : "";
            boolean isConnecting = call.matches() && call.group(1).matches(".*(<init>\"|\\.connect)");
            if (isConstructor && !used.equals(type) && completedLater.contains(used) && !isConnecting) {
                found.add(type + " uses " + used);
            }
        });
        return found;
    }

    /**
     * Receives the lines of code.
     *
     * @threading immutable
     */
    private interface LineReader {

        void read(String type, boolean isConstructor, String line);
    }

    private static void forEachLine(String code, LineReader reader) {
        String type = "";
        boolean isConstructor = false;
        for (String line : code.lines().toList()) {
            Matcher next = TYPE.matcher(line);
            if (next.matches()) {
                type = next.group(1);
            }
            if (line.startsWith("  ") && !line.startsWith("   ")) {
                isConstructor = line.contains(type + "(");
            }
            reader.read(type.replace('.', '/'), isConstructor, line);
        }
    }

    @Test
    void noConstructorHandsOutItsHalfBuiltObject() {
        assertEquals(List.of(), handedOut(javap), "wire it after its constructor, as AcquireScheduler.create does");
    }

    /** The conductor connects the others, and reads those that are complete. */
    @Test
    void noConstructorUsesWhatIsCompletedLater() {
        assertEquals(List.of(), usedTooEarly(javap), "pass what it needs as an argument");
    }

    @Test
    void findsBoth() {
        String code = """
                final class dev.redlock.engine.Hub {
                  private dev.redlock.engine.Hub(dev.redlock.engine.Part);
                      23: invokespecial #18     // Method dev/redlock/engine/Part."<init>":(Ldev/redlock/engine/Hub;)V
                      26: invokevirtual #19     // Method connect:()V
                  void connect(dev.redlock.engine.Part);
                      23: invokespecial #18     // Method dev/redlock/engine/Part."<init>":(Ldev/redlock/engine/Hub;)V
                }
                class dev.redlock.engine.Part {
                  dev.redlock.engine.Part(dev.redlock.engine.Hub);
                      1: invokespecial #1       // Method java/lang/Object."<init>":()V
                      2: getfield      #2       // Field dev/redlock/engine/Hub.other:Ldev/redlock/engine/Part;
                      3: getfield      #2       // Field own:Ldev/redlock/engine/Part;
                      4: invokevirtual #3       // Method dev/redlock/engine/Hub.call:()V
                  void later();
                      4: invokevirtual #3       // Method dev/redlock/engine/Hub.call:()V
                }
                """;
        assertEquals(List.of("dev/redlock/engine/Hub to dev/redlock/engine/Part.\"<init>\"",
                "dev/redlock/engine/Hub to connect"), handedOut(code));
        assertEquals(List.of("dev/redlock/engine/Part uses dev/redlock/engine/Hub",
                "dev/redlock/engine/Part uses dev/redlock/engine/Hub"), usedTooEarly(code));
    }
}
