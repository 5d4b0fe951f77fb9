package dev.redlock.node;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** Finds the lock script of a source text or SHA-1, so that a fake node can model its effect. */
public final class ScriptNames {

    private static final Map<String, String> BY_SHA = new HashMap<>();

    static {
        for (CommandKind kind : LockScripts.SCRIPTED) {
            BY_SHA.put(LockScripts.sha1Hex(LockScripts.source(kind)), kind.scriptName());
        }
    }

    private ScriptNames() {
    }

    /** @return the name of the script resource with this SHA-1, or null if it is none of ours */
    public static String ofSha(String sha) {
        return BY_SHA.get(sha);
    }

    /** @return the source text of the script with this name */
    public static String source(String name) {
        for (CommandKind kind : LockScripts.SCRIPTED) {
            if (kind.scriptName().equals(name)) {
                return new String(LockScripts.source(kind), StandardCharsets.ISO_8859_1);
            }
        }
        throw new IllegalArgumentException("no script is named " + name);
    }

    /** @return the SHA-1 of a source text, hex */
    public static String shaOf(byte[] source) {
        return LockScripts.sha1Hex(source);
    }
}
