package dev.redlock.loadtest.cycle;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * One command of one lock, encoded except for its token.
 *
 * @threading immutable
 */
final class BareCommand {

    private static final int TOKEN_BYTES = 20;

    private final byte[] bytes;
    private final int tokenOffset;

    private BareCommand(String head, String tail) {
        String beforeToken = head + "$" + TOKEN_BYTES + "\r\n";
        bytes = (beforeToken + ".".repeat(TOKEN_BYTES) + "\r\n" + tail).getBytes(StandardCharsets.US_ASCII);
        tokenOffset = beforeToken.length();
    }

    /** {@code EVALSHA sha 1 resource token [argument]}. */
    static BareCommand script(String sha, String resource, String... arguments) {
        StringBuilder tail = new StringBuilder();
        for (String argument : arguments) {
            tail.append(bulk(argument));
        }
        return new BareCommand(
                "*" + (5 + arguments.length) + "\r\n" + bulk("EVALSHA") + bulk(sha) + bulk("1") + bulk(resource),
                tail.toString());
    }

    /** {@code SET resource token NX PX ttl}. */
    static BareCommand setIfAbsent(String resource, String ttlMs) {
        return new BareCommand("*6\r\n" + bulk("SET") + bulk(resource), bulk("NX") + bulk("PX") + bulk(ttlMs));
    }

    private static String bulk(String text) {
        return "$" + text.length() + "\r\n" + text + "\r\n";
    }

    int length() {
        return bytes.length;
    }

    /** Appends the command with its token. */
    void write(ByteBuffer out, long high, long middle, int low) {
        int token = out.position() + tokenOffset;
        out.put(bytes);
        out.putLong(token, high).putLong(token + 8, middle).putInt(token + 16, low);
    }
}
