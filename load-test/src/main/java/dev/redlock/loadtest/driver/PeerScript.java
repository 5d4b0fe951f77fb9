package dev.redlock.loadtest.driver;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/**
 * The scripts of {@code redlock-core}, for the peers that are written by hand here: the same work on the servers, so
 * that what differs is the client.
 *
 * @threading immutable
 */
enum PeerScript {
    /** Replies 1 when granted. */
    ACQUIRE("acquire.lua"),
    /** Replies 1 when deleted. */
    RELEASE("release.lua");

    private final String source;

    PeerScript(String file) {
        source = read("dev/redlock/node/" + file);
    }

    String source() {
        return source;
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
}
