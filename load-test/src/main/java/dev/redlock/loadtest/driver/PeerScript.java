package dev.redlock.loadtest.driver;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * The scripts of {@code redlock-core}, for the hand-written peers. Each replies 1 for a vote.
 *
 * @threading immutable
 */
enum PeerScript {
    /** Sets the key if it is absent; a rejection returns the rest of the holder's ttl. */
    ACQUIRE("dev/redlock/node/send/acquire.lua"),
    /** Deletes the key if it holds the token. */
    RELEASE("dev/redlock/node/send/release.lua");

    private final String source;
    private final String sha;

    PeerScript(String name) {
        this.source = read(name);
        this.sha = shaOf(source);
    }

    String source() {
        return source;
    }

    /** The name of the script on a node. */
    String sha() {
        return sha;
    }

    private static String read(String name) {
        try (InputStream in = PeerScript.class.getClassLoader().getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalStateException("script " + name + " is not on the class path");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read script " + name, e);
        }
    }

    private static String shaOf(String source) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-1").digest(source.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this JDK has no SHA-1, which names scripts in Redis", e);
        }
    }
}
