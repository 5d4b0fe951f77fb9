package dev.redlock.node;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;

/** Finds the lock script of a source text or SHA-1, so that a fake node can model its effect. */
public final class ScriptNames {

    private static final Map<String, String> BY_SHA = new HashMap<>();
    private static final Map<String, byte[]> SOURCES = new HashMap<>();

    static {
        for (LockKind lock : LockKind.values()) {
            for (CommandKind command : CommandKind.values()) {
                String name = lock.scriptName(command);
                if (name != null) {
                    byte[] source = ScriptSources.source(lock, command);
                    SOURCES.put(name, source);
                    BY_SHA.put(ScriptSources.sha1Hex(source), name);
                }
            }
        }
    }

    private ScriptNames() {
    }

    /** @return the name of the script resource with this SHA-1, or null if it is none of ours */
    public static String ofSha(String sha) {
        return BY_SHA.get(sha);
    }

    /** @return the names of all scripts */
    public static SortedSet<String> all() {
        return new TreeSet<>(SOURCES.keySet());
    }

    /** @return the source text of the script with this name */
    public static String source(String name) {
        if (!SOURCES.containsKey(name)) {
            throw new IllegalArgumentException("no script is named " + name);
        }
        return new String(SOURCES.get(name), StandardCharsets.ISO_8859_1);
    }

    /** @return the SHA-1 of a source text, hex */
    public static String shaOf(byte[] source) {
        return ScriptSources.sha1Hex(source);
    }
}
