package dev.redlock.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * The metadata for GraalVM's {@code native-image}, compared with the byte code: a closed image has no other reflection
 * and no other resources. The image itself is built nowhere.
 */
class NativeImageTest {

    /** What finds classes, members or resources by name. */
    private static final Pattern BY_NAME = Pattern.compile(String.join("|",
            "java/lang/Class\\.(forName|newInstance|getResource.*|getRecordComponents)",
            "java/lang/Class\\.get(Declared)?(Method|Field|Constructor)s?",
            "java/lang/(ClassLoader|Module)\\.(loadClass|find|getResource|getSystemResource).*",
            "java/lang/reflect/.*",
            "java/util/(ServiceLoader|ResourceBundle)\\..*",
            "java/io/Object(In|Out)putStream\\..*",
            "java/lang/invoke/MethodHandles\\$Lookup\\.(find|unreflect|define).*",
            "java/lang/(System|Runtime)\\.load.*"));
    private static final Pattern FIELDS = Pattern.compile("java/lang/invoke/MethodHandles\\$Lookup\\.findVarHandle"
            + "|java/util/concurrent/atomic/Atomic\\w+FieldUpdater\\.newUpdater");
    private static final String NEWEST_CLASS = "io.netty.channel.ManualIoEventLoop";
    private static final String NEWEST_METHOD = ", \"methods\": [{\"name\": \"runNow\", "
            + "\"parameterTypes\": [\"long\"]}]";
    private static final String METHODS_OF_VIRTUAL_THREADS = "{\"name\": \"java.lang.Thread\", \"methods\": ["
            + "{\"name\": \"isVirtual\", \"parameterTypes\": []}, {\"name\": \"startVirtualThread\", "
            + "\"parameterTypes\": [\"java.lang.Runnable\"]}]}";
    private static final String METADATA = "META-INF/native-image/dev.redlock/redlock-core/";

    /** By name, with dots. */
    private static final Map<String, ClassFile> CLASSES = new TreeMap<>();

    /** The names in the constant pool of a class. */
    private record ClassFile(String superName, Set<String> methods, Set<String> texts) {

        static ClassFile read(InputStream file) throws IOException {
            DataInputStream in = new DataInputStream(file);
            in.skipNBytes(8);
            int count = in.readUnsignedShort();
            Map<Integer, String> utf8 = new HashMap<>();
            Map<Integer, int[]> others = new HashMap<>();
            for (int i = 1; i < count; i++) {
                int tag = in.readUnsignedByte();
                switch (tag) {
                    case 1 -> utf8.put(i, in.readUTF());
                    case 7, 8, 16, 19, 20 -> others.put(i, new int[]{tag, in.readUnsignedShort()});
                    case 15 -> in.skipNBytes(3);
                    case 5, 6 -> {
                        in.skipNBytes(8);
                        i++;
                    }
                    case 3, 4 -> in.skipNBytes(4);
                    default -> others.put(i, new int[]{tag, in.readUnsignedShort(), in.readUnsignedShort()});
                }
            }
            in.skipNBytes(4);
            int superClass = in.readUnsignedShort();
            Set<String> methods = new TreeSet<>();
            Set<String> texts = new TreeSet<>();
            for (int[] entry : others.values()) {
                if (entry[0] == 10 || entry[0] == 11) {
                    methods.add(utf8.get(others.get(entry[1])[1]) + "." + utf8.get(others.get(entry[2])[1]));
                } else if (entry[0] == 8) {
                    texts.add(utf8.get(entry[1]));
                }
            }
            return new ClassFile(superClass == 0 ? "" : utf8.get(others.get(superClass)[1]), methods, texts);
        }
    }

    @BeforeAll
    static void readTheClasses() throws Exception {
        for (String name : MainClasses.names()) {
            try (InputStream in = Redlock.class.getResourceAsStream("/" + name.replace('.', '/') + ".class")) {
                CLASSES.put(name, ClassFile.read(in));
            }
        }
    }

    @Test
    void nothingElseIsFoundByName() {
        Set<String> uses = new TreeSet<>();
        CLASSES.forEach((name, file) -> file.methods.stream()
                .filter(method -> BY_NAME.matcher(method).matches() && !FIELDS.matcher(method).matches())
                .forEach(method -> uses.add(name + " " + method)));
        assertEquals(Set.of("dev.redlock.engine.VirtualCallers java/lang/invoke/MethodHandles$Lookup.findStatic",
                "dev.redlock.engine.VirtualCallers java/lang/invoke/MethodHandles$Lookup.findVirtual",
                "dev.redlock.node.send.ScriptSources java/lang/Class.getResourceAsStream",
                "dev.redlock.transport.NettyVersion java/lang/Class.forName",
                "dev.redlock.transport.NettyVersion java/lang/Class.getMethod"), uses, "give it metadata first");
    }

    /** The classes of Netty that the client looks for, fields that are changed atomically, and the events of JFR. */
    @Test
    void reflectionHasTheMetadataOfTheByteCode() throws IOException {
        List<String> entries = new ArrayList<>();
        entries.add(METHODS_OF_VIRTUAL_THREADS);
        for (String name : CLASSES.get("dev.redlock.transport.NettyVersion").texts) {
            if (name.matches("io\\.netty\\..*\\.[A-Z]\\w+")) {
                entries.add("{\"name\": \"" + name + "\""
                        + (name.equals(NEWEST_CLASS) ? NEWEST_METHOD : "") + "}");
            }
        }
        assertTrue(entries.size() > 5, entries::toString);
        Map<String, Set<String>> fields = new TreeMap<>();
        CLASSES.forEach((name, file) -> {
            if (file.methods.stream().anyMatch(method -> FIELDS.matcher(method).matches())) {
                addFields(fields, name, file);
            }
        });
        assertTrue(fields.size() >= 3, fields::toString);
        fields.forEach((name, all) -> entries.add("{\"name\": \"" + name + "\", \"fields\": ["
                + all.stream().map(field -> "{\"name\": \"" + field + "\"}").collect(Collectors.joining(", ")) + "]}"));
        CLASSES.forEach((name, file) -> {
            if (file.superName.equals("jdk/jfr/Event")) {
                entries.add(
                        "{\"name\": \"" + name + "\", \"allDeclaredConstructors\": true, \"allDeclaredFields\": true}");
            }
        });
        assertEquals("[\n  " + String.join(",\n  ", entries) + "\n]\n", metadata("reflect-config.json"));
    }

    /** The texts of a class that name fields of its own or of the class above it. */
    private static void addFields(Map<String, Set<String>> fields, String name, ClassFile file) {
        for (String owner : List.of(name, file.superName.replace('/', '.'))) {
            if (CLASSES.containsKey(owner)) {
                for (Field field : MainClasses.type(owner).getDeclaredFields()) {
                    if (file.texts.contains(field.getName())) {
                        fields.computeIfAbsent(owner, one -> new TreeSet<>()).add(field.getName());
                    }
                }
            }
        }
    }

    @Test
    void everyResourceIsInTheImage() throws IOException {
        Matcher pattern = Pattern.compile("\"pattern\": \"(.*)\"").matcher(metadata("resource-config.json"));
        assertTrue(pattern.find());
        Pattern included = Pattern.compile(pattern.group(1).replace("\\\\", "\\"));
        Path root = Path.of("src/main/resources");
        try (Stream<Path> all = Files.walk(root)) {
            List<String> files = all.filter(Files::isRegularFile)
                    .map(file -> root.relativize(file).toString())
                    .filter(file -> !file.startsWith("META-INF"))
                    .toList();
            assertTrue(files.size() > 20, files::toString);
            assertEquals(List.of(), files.stream().filter(file -> !included.matcher(file).matches()).toList());
        }
    }

    /** Netty's jars have such a line for their other transports. */
    @Test
    void kqueueIsInitializedAtRunTime() throws IOException {
        assertTrue(metadata("native-image.properties").endsWith("Args = --initialize-at-run-time="
                + "io.netty.channel.kqueue\n"));
        assertFalse(hasMetadata("kqueue"), "Netty has it now: leave this one out");
        assertTrue(hasMetadata("epoll"));
    }

    private static boolean hasMetadata(String transport) {
        return NativeImageTest.class.getResource("/META-INF/native-image/io.netty/netty-transport-classes-" + transport
                + "/native-image.properties") != null;
    }

    private static String metadata(String name) throws IOException {
        try (InputStream in = NativeImageTest.class.getResourceAsStream("/" + METADATA + name)) {
            assertTrue(in != null, name);
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
