package dev.redlock.sim;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Finds the lock script of a source text or SHA-1, so that a fake node can model its effect. */
public final class ScriptNames {

    private static final List<String> NAMES = List.of("acquire", "acquire_fenced", "acquire_fenced_in_order",
            "acquire_fenced_set", "acquire_fenced_write", "acquire_in_order", "acquire_read", "acquire_set",
            "acquire_write", "break", "check", "check_read", "check_set", "extend", "extend_many", "extend_read",
            "extend_set", "find_permit", "inspect", "leave_queue", "raise", "raise_set", "release", "release_fenced",
            "release_fenced_set", "release_fenced_write", "release_many", "release_many_fenced", "release_read",
            "release_set", "release_write", "remaining_ttl_set", "shorten", "shorten_read");
    private static final Pattern PART = Pattern.compile("--include (\\w+)\n");
    private static final Map<String, String> BY_SHA = new HashMap<>();
    private static final Map<String, byte[]> SOURCES = new HashMap<>();

    static {
        for (String name : NAMES) {
            byte[] source = PART.matcher(load(name))
                    .replaceAll(part -> Matcher.quoteReplacement(load(part.group(1))))
                    .getBytes(StandardCharsets.US_ASCII);
            SOURCES.put(name, source);
            BY_SHA.put(shaOf(source), name);
        }
    }

    private ScriptNames() {
    }

    /** The test kit has a copy of the scripts: on a module path, it cannot read those of the library. */
    private static String load(String name) {
        for (String place : List.of("", "/dev/redlock/node/send/")) {
            try (InputStream in = ScriptNames.class.getResourceAsStream(place + name + ".lua")) {
                if (in != null) {
                    return new String(in.readAllBytes(), StandardCharsets.US_ASCII);
                }
            } catch (IOException e) {
                throw new UncheckedIOException("script " + name + ".lua cannot be read", e);
            }
        }
        throw new IllegalStateException("script " + name + ".lua is missing");
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
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-1").digest(source));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this JDK has no SHA-1, which Redis names scripts by", e);
        }
    }
}
