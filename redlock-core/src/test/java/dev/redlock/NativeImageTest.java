package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.resp.RespWriter;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
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
            "java/util/concurrent/atomic/Atomic\\w+FieldUpdater\\.newUpdater",
            "java/lang/(System|Runtime)\\.load.*"));
    private static final String FIELDS = "java/lang/invoke/MethodHandles$Lookup.findVarHandle";
    private static final String NEWEST_CLASS = "io.netty.channel.ManualIoEventLoop";
    private static final String NEWEST_METHOD = ", \"methods\": [{\"name\": \"runNow\", "
            + "\"parameterTypes\": [\"long\"]}]";
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
        for (Class<?> one : List.of(Redlock.class, RespWriter.class)) {
            Path place = Path.of(one.getProtectionDomain().getCodeSource().getLocation().toURI());
            if (Files.isDirectory(place)) {
                read(place);
            } else {
                try (FileSystem jar = FileSystems.newFileSystem(place)) {
                    read(jar.getPath("/"));
                }
            }
        }
        assertTrue(CLASSES.size() > 200, () -> CLASSES.keySet().toString());
    }

    private static void read(Path root) throws IOException {
        for (Path file : files(root, name -> name.endsWith(".class") && !name.endsWith("module-info.class"))) {
            try (InputStream in = Files.newInputStream(file)) {
                String name = root.relativize(file).toString();
                CLASSES.put(name.substring(0, name.length() - ".class".length()).replace('/', '.'),
                        ClassFile.read(in));
            }
        }
    }

    private static List<Path> files(Path root, Predicate<String> name) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            return files.filter(Files::isRegularFile).filter(file -> name.test(file.toString())).toList();
        }
    }

    @Test
    void nothingElseIsFoundByName() {
        Set<String> uses = new TreeSet<>();
        CLASSES.forEach((name, file) -> file.methods.stream()
                .filter(method -> BY_NAME.matcher(method).matches() && !method.equals(FIELDS))
                .forEach(method -> uses.add(name + " " + method)));
        assertEquals(Set.of("dev.redlock.node.ScriptSources java/lang/Class.getResourceAsStream",
                "dev.redlock.transport.NettyVersion java/lang/Class.forName",
                "dev.redlock.transport.NettyVersion java/lang/Class.getMethod"), uses, "give it metadata first");
    }

    /** The classes of Netty that the client looks for, the fields behind VarHandles, and the events of JFR. */
    @Test
    void reflectionHasTheMetadataOfTheByteCode() throws IOException {
        List<String> entries = new ArrayList<>();
        for (String name : CLASSES.get("dev.redlock.transport.NettyVersion").texts) {
            if (name.matches("io\\.netty\\..*\\.[A-Z]\\w+")) {
                entries.add("{\"name\": \"" + name + "\"" + (name.equals(NEWEST_CLASS) ? NEWEST_METHOD : "") + "}");
            }
        }
        assertTrue(entries.size() > 5, entries::toString);
        Map<String, Set<String>> fields = new TreeMap<>();
        CLASSES.forEach((name, file) -> {
            if (file.methods.contains(FIELDS)) {
                addFields(fields, name, file);
            }
        });
        assertTrue(fields.size() >= 5, fields::toString);
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
                for (Field field : type(owner).getDeclaredFields()) {
                    if (file.texts.contains(field.getName())) {
                        fields.computeIfAbsent(owner, one -> new TreeSet<>()).add(field.getName());
                    }
                }
            }
        }
    }

    private static Class<?> type(String name) {
        try {
            return Class.forName(name, false, NativeImageTest.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void everyResourceIsInTheImage() throws IOException {
        Matcher pattern = Pattern.compile("\"pattern\": \"(.*)\"").matcher(metadata("resource-config.json"));
        assertTrue(pattern.find());
        Pattern included = Pattern.compile(pattern.group(1).replace("\\\\", "\\"));
        Path root = Path.of("src/main/resources");
        List<Path> files = files(root, name -> !name.contains("META-INF"));
        assertTrue(files.size() > 20, files::toString);
        for (Path file : files) {
            assertTrue(included.matcher(root.relativize(file).toString()).matches(), file::toString);
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
