package dev.redlock.loadtest.driver;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * The release script of {@code redlock-core}, for the peers that are written by hand here. Replies 1 when deleted.
 *
 * @threading immutable
 */
final class ReleaseScript {
    /** Its text. */
    static final String SOURCE = read("dev/redlock/node/release.lua");
    /** The name under which a node keeps it. */
    static final String SHA = sha(SOURCE);

    private ReleaseScript() {
    }

    private static String read(String name) {
        try (InputStream in = ReleaseScript.class.getClassLoader().getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalStateException("script " + name + " is not on the class path");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read script " + name, e);
        }
    }

    private static String sha(String source) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-1").digest(source.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this JDK has no SHA-1, which names scripts in Redis", e);
        }
    }
}
