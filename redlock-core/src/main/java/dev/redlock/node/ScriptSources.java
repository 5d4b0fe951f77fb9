package dev.redlock.node;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The sources of the scripts, and the words of the commands that run them, which are encoded once when this class is
 * loaded.
 *
 * @threading immutable
 */
final class ScriptSources {

    /** The commands with a script. */
    static final List<CommandKind> SCRIPTED = Stream.of(CommandKind.VALUES).filter(CommandKind::isScript).toList();

    /** By kind: the commands for one plain lock, up to the key. */
    static final byte[][] EVALSHA = new byte[CommandKind.VALUES.length][];
    static final byte[][] EVAL = new byte[CommandKind.VALUES.length][];
    /** By kind: the first words of the commands for many plain locks. */
    static final byte[][] BATCH_EVALSHA = new byte[CommandKind.VALUES.length][];
    static final byte[][] BATCH_EVAL = new byte[CommandKind.VALUES.length][];

    private static final Pattern INCLUDE = Pattern.compile("--include (\\w+)\n");
    private static final byte[][] SOURCES = new byte[CommandKind.VALUES.length][];

    static {
        for (CommandKind kind : SCRIPTED) {
            byte[] source = load(kind.scriptName);
            SOURCES[kind.ordinal()] = source;
            EVALSHA[kind.ordinal()] = prefix(kind, "EVALSHA", sha1Hex(source));
            EVAL[kind.ordinal()] = prefix(kind, "EVAL", new String(source, StandardCharsets.US_ASCII));
            BATCH_EVALSHA[kind.ordinal()] = evalShaHead(source);
            BATCH_EVAL[kind.ordinal()] = evalHead(source);
        }
    }

    private ScriptSources() {
    }

    /** {@code $7 EVALSHA $40 <sha>}: the first words of a command that runs a cached script. */
    static byte[] evalShaHead(byte[] source) {
        return ascii("$7\r\nEVALSHA\r\n$40\r\n" + sha1Hex(source) + "\r\n");
    }

    /** {@code $4 EVAL <source>}: the first words of a command that runs and caches a script. */
    static byte[] evalHead(byte[] source) {
        return ascii("$4\r\nEVAL\r\n$" + source.length + "\r\n" + new String(source, StandardCharsets.US_ASCII)
                + "\r\n");
    }

    /** Loads a script. A line {@code --include NAME} in it stands for a part that scripts share. */
    static byte[] load(String name) {
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
    static String sha1Hex(byte[] source) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-1").digest(source));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this JDK has no SHA-1, which Redis names scripts by", e);
        }
    }

    /** {@code *6 $7 EVALSHA $40 <sha> $1 1}: the bytes before the key. */
    private static byte[] prefix(CommandKind kind, String command, String script) {
        int keyCount = kind.hasCounter ? 2 : 1;
        int count = 3 + keyCount + 1 + kind.argumentCount;
        return ascii("*" + count + "\r\n$" + command.length() + "\r\n" + command + "\r\n$" + script.length() + "\r\n"
                + script + "\r\n$1\r\n" + keyCount + "\r\n");
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    /** The script's source for plain locks, borrowed. */
    static byte[] source(CommandKind kind) {
        return SOURCES[kind.ordinal()];
    }

    /** The script's source for a kind of lock, borrowed. */
    static byte[] source(LockKind lock, CommandKind kind) {
        return lock == LockKind.PLAIN ? source(kind) : KindScripts.of(lock).source(kind);
    }
}
