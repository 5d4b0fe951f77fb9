package dev.redlock.loadtest.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.RedlockContext;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The page on configuration has a row for every option, in the section of its class, and for nothing else. */
class ConfigurationDocTest {

    @ParameterizedTest
    @ValueSource(classes = {RedlockContext.class, AcquireOptions.class})
    void everyOptionHasARow(Class<?> type) throws IOException {
        Set<String> options = new TreeSet<>();
        for (Method method : type.getMethods()) {
            if (Modifier.isPublic(method.getModifiers()) && method.getReturnType() == type) {
                options.add(method.getName());
            }
        }
        assertTrue(options.size() >= 7, options::toString);
        assertEquals(options, rows(type.getSimpleName()));
    }

    /** The names that rows begin with, from the heading of a class to the next one of that level. */
    private static Set<String> rows(String className) throws IOException {
        String section = ("\n" + DocPages.text("docs/guides/configuration.md")).split("\n## `" + className + "`\n")[1];
        List<String> lines = Arrays.asList(section.split("\n## ")[0].split("\n"));
        Set<String> names = new TreeSet<>();
        for (String line : lines) {
            if (line.startsWith("| `")) {
                names.add(line.split("`")[1]);
            }
        }
        return names;
    }
}
