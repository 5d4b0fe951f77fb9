package dev.redlock.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import java.lang.reflect.Constructor;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A type with many fields does the work of several: what few of its objects need belongs to a type of its own. */
class FieldsTest {

    private static final int FIELDS_MAX = 20;
    private static final int ARGUMENTS_MAX = 6;

    @Test
    void noTypeHasMoreThanTwentyFields() throws Exception {
        assertEquals(List.of(), types().filter(type -> fieldCount(type) > FIELDS_MAX).toList());
    }

    @Test
    void noConstructorHasMoreThanSixArguments() throws Exception {
        assertEquals(List.of(), types().filter(type -> argumentCount(type) > ARGUMENTS_MAX).toList());
    }

    private static Stream<Class<?>> types() throws Exception {
        Path classes = Path.of(Redlock.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        List<String> names;
        try (Stream<Path> files = Files.walk(classes)) {
            names = files.map(classes::relativize)
                    .map(Path::toString)
                    .filter(name -> name.endsWith(".class") && !name.equals("module-info.class"))
                    .map(name -> name.substring(0, name.length() - ".class".length()).replace('/', '.'))
                    .toList();
        }
        assertTrue(names.size() > 100, names::toString);
        return names.stream().map(FieldsTest::type);
    }

    private static Class<?> type(String name) {
        try {
            return Class.forName(name, false, FieldsTest.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new AssertionError(name, e);
        }
    }

    /** Counts the fields that a type adds to those of its supertype. */
    private static long fieldCount(Class<?> type) {
        return Arrays.stream(type.getDeclaredFields())
                .filter(field -> !Modifier.isStatic(field.getModifiers()) && !field.isSynthetic())
                .count();
    }

    /** Constants of an enum have their arguments beside their names. */
    private static int argumentCount(Class<?> type) {
        return type.isEnum()
                ? 0
                : Arrays.stream(type.getDeclaredConstructors())
                        .mapToInt(Constructor::getParameterCount)
                        .max()
                        .orElse(0);
    }
}
