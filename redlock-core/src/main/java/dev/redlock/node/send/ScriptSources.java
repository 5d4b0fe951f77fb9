package dev.redlock.node.send;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The scripts of one {@link LockKind}, and the first words of the commands that run them. They are loaded at the first
 * use, so clients without such locks do not pay for them. The handshake sends those of plain locks. Before the first
 * acquire of another kind a connection sends those that the acquire, its refusal and its release need. A node that
 * meets another one for the first time, or has lost its scripts, replies {@code NOSCRIPT} and gets the source.
 *
 * @threading immutable
 */
public final class ScriptSources {

    /** The commands of a plain lock with a script. */
    public static final List<CommandKind> SCRIPTED = Stream.of(CommandKind.VALUES)
            .filter(CommandKind::isScript)
            .toList();

    private static final Pattern INCLUDE = Pattern.compile("--include (\\w+)\n");
    /** By kind of lock; null before the first use. */
    private static final ScriptSources[] LOADED = new ScriptSources[LockKind.values().length];

    private final byte[][] sources = new byte[CommandKind.VALUES.length][];
    private final byte[][] evalShas = new byte[sources.length][];
    private final byte[][] evals = new byte[sources.length][];
    private final List<byte[]> ofCycle = new ArrayList<>();

    private ScriptSources(LockKind lock) {
        for (CommandKind kind : CommandKind.VALUES) {
            String name = lock.scriptName(kind);
            if (name != null) {
                byte[] source = load(name);
                sources[kind.ordinal()] = source;
                evalShas[kind.ordinal()] = ascii("$7\r\nEVALSHA\r\n$40\r\n" + sha1Hex(source) + "\r\n");
                evals[kind.ordinal()] = ascii("$4\r\nEVAL\r\n$" + source.length + "\r\n"
                        + new String(source, StandardCharsets.US_ASCII) + "\r\n");
                if (kind.isAcquire || kind.isRelease() || kind == CommandKind.REMAINING_TTL) {
                    ofCycle.add(source);
                }
            }
        }
    }

    private static ScriptSources of(LockKind lock) {
        ScriptSources loaded = LOADED[lock.ordinal()];
        if (loaded == null) {
            // Two event loops may load them twice.
            loaded = new ScriptSources(lock);
            LOADED[lock.ordinal()] = loaded;
        }
        return loaded;
    }

    /** The script's source for a kind of lock, borrowed. */
    static byte[] source(LockKind lock, CommandKind kind) {
        return of(lock).sources[kind.ordinal()];
    }

    /** The sources of the scripts that an acquire of a kind of lock, its refusal and its release need, borrowed. */
    static List<byte[]> ofCycle(LockKind lock) {
        return of(lock).ofCycle;
    }

    /** The script's source for plain locks, borrowed. */
    public static byte[] source(CommandKind kind) {
        return source(LockKind.PLAIN, kind);
    }

    /** {@code $7 EVALSHA $40 <sha>}, which runs a cached script, or {@code $4 EVAL <source>}, which caches it too. */
    static byte[] head(LockKind lock, CommandKind kind, boolean isEval) {
        ScriptSources scripts = of(lock);
        byte[] head = (isEval ? scripts.evals : scripts.evalShas)[kind.ordinal()];
        if (head == null) {
            throw new IllegalArgumentException("there is no script for " + kind);
        }
        return head;
    }

    /**
     * Loads a script. A line {@code --include NAME} in it includes a part that scripts share.
     *
     * @return its source
     */
    public static byte[] load(String name) {
        return ascii(INCLUDE.matcher(read(name)).replaceAll(found -> Matcher.quoteReplacement(read(found.group(1)))));
    }

    private static String read(String name) {
        try (InputStream in = ScriptSources.class.getResourceAsStream(name + ".lua")) {
            if (in == null) {
                throw new IllegalStateException("script " + name + ".lua is missing from the redlock-core jar");
            }
            return new String(in.readAllBytes(), StandardCharsets.US_ASCII);
        } catch (IOException e) {
            throw new UncheckedIOException("script " + name + ".lua cannot be read from the redlock-core jar", e);
        }
    }

    /** The name of a script in the cache of Redis: the SHA-1 of its bytes, in lower-case hex. */
    public static String sha1Hex(byte[] source) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-1").digest(source));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this JDK has no SHA-1, which Redis names scripts by", e);
        }
    }

    public static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
