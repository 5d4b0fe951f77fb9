package dev.redlock.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import dev.redlock.api.CheckReturnValue;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The public types and members of the exported packages, compared with {@code config/api.txt}, so that a program that
 * was compiled with the version of that file runs with this one. {@code -Dapi.write=true} writes the file.
 */
class ApiTest {

    private static final Path BASELINE = Path.of("../config/api.txt");
    private static final String HEAD = "# The API of 0.1.0: ApiTest fails if a line is true no more.";
    private static final Pattern EXPORTED = Pattern.compile("(?m)^ *exports ([\\w.]+);");
    /** How a method does its work is no part of the API. */
    private static final Pattern INSIDE = Pattern.compile("\\b(synchronized|native|strictfp|transient|volatile) ");

    private static Set<String> api;

    @BeforeAll
    static void readTheApi() throws Exception {
        Set<String> packages = new TreeSet<>();
        for (String module : List.of(".", "../resp-codec")) {
            EXPORTED.matcher(Files.readString(Path.of(module, "src/main/java/module-info.java")))
                    .results()
                    .forEach(export -> packages.add(export.group(1)));
        }
        api = new TreeSet<>();
        for (String name : MainClasses.names()) {
            Class<?> type = MainClasses.type(name);
            if (packages.contains(type.getPackageName()) && isVisible(type)) {
                describe(type);
            }
        }
        assertTrue(api.size() > 300, api::toString);
        if (Boolean.getBoolean("api.write")) {
            Files.writeString(BASELINE, HEAD + "\n" + String.join("\n", api) + "\n");
        }
    }

    private static boolean isVisible(Class<?> type) {
        return isVisible(type.getModifiers()) && (type.getDeclaringClass() == null
                || isVisible(type.getDeclaringClass()));
    }

    private static boolean isVisible(int modifiers) {
        return Modifier.isPublic(modifiers) || Modifier.isProtected(modifiers);
    }

    private static void describe(Class<?> type) {
        String above = Stream.concat(Stream.ofNullable(type.getGenericSuperclass()),
                Arrays.stream(type.getGenericInterfaces()))
                .map(one -> one.getTypeName())
                .sorted()
                .collect(Collectors.joining(", "));
        add(type, type.toGenericString() + " of " + above);
        // The members of a hidden class above are those of the type.
        for (Class<?> one = type; one == type
                || one != null && !isVisible(one.getModifiers()); one = one.getSuperclass()) {
            for (Constructor<?> constructor : type == one ? one.getDeclaredConstructors() : new Constructor<?>[0]) {
                addMember(type, constructor, constructor.toGenericString());
            }
            for (Method method : one.getDeclaredMethods()) {
                addMember(type, method, method.toGenericString());
            }
            for (Field field : one.getDeclaredFields()) {
                addMember(type, field, field.toGenericString());
            }
        }
    }

    private static void addMember(Class<?> type, Member member, String text) {
        boolean isUsable = Modifier.isPublic(member.getModifiers())
                || Modifier.isProtected(member.getModifiers()) && !Modifier.isFinal(type.getModifiers());
        if (isUsable && !member.isSynthetic()) {
            add(type, text.replace(member.getDeclaringClass().getTypeName() + ".", ""));
        }
    }

    private static void add(Class<?> type, String text) {
        api.add(type.getTypeName() + ": " + INSIDE.matcher(text).replaceAll(""));
    }

    private static Set<String> baseline() throws Exception {
        Set<String> lines = new TreeSet<>(Files.readAllLines(BASELINE));
        assertTrue(lines.remove(HEAD));
        return lines;
    }

    @Test
    void nothingOfTheBaselineIsMissing() throws Exception {
        Set<String> missing = baseline();
        missing.removeAll(api);
        assertEquals(Set.of(), missing, "until 0.1.0 is released, run with -Dapi.write=true and say it in the changes");
    }

    /** Before a release; until then an addition may change again. */
    @Test
    @Tag("release")
    void baselineHasTheWholeApi() throws Exception {
        assertEquals(api, baseline(), "run with -Dapi.write=true");
    }

    /** Static checkers find callers who ignore such a result. Those with a callback return nothing. */
    @Test
    void outcomesOfAcquisitionsAreMarkedForStaticCheckers() {
        Pattern outcome = Pattern.compile(".*\\.(AcquireOutcome|RunOutcome|CompletionStage)");
        Set<String> unmarked = new TreeSet<>();
        int count = 0;
        for (Method method : Redlock.class.getMethods()) {
            if (outcome.matcher(method.getReturnType().getName()).matches()) {
                count++;
                if (!method.isAnnotationPresent(CheckReturnValue.class)) {
                    unmarked.add(method.toString());
                }
            }
        }
        assertEquals(Set.of(), unmarked);
        assertTrue(count > 15, "found " + count);
    }

    @Test
    void hiddenTypesAndMembersAreNoApi() {
        String text = String.join("\n", api);
        assertFalse(text.contains("dev.redlock.engine.LockEngine "), "a parameter of no public method");
        assertTrue(text.contains("dev.redlock.Redlock: public void close()"), "inherited from a hidden class");
    }
}
