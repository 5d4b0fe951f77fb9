package dev.redlock.cli;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.regex.Pattern;

/**
 * The value of a lock's key. It is a secret, because its owner can release the lock. So people get its id.
 *
 * @param bytes the value, one char for each byte
 * @threading immutable
 */
record LockValue(String bytes) {

    /** Hexadecimal digits of an id: enough to distinguish the few values of one lock. */
    static final int ID_LENGTH = 8;

    private static final int TOKEN_LENGTH = 20;
    /** What {@code RedlockContext.nameInValues} appends to the token. */
    private static final Pattern NAMED = Pattern.compile("(?s).{" + TOKEN_LENGTH + "}@([!-~]{1,64})");

    static LockValue of(byte[] bytes) {
        return new LockValue(new String(bytes, StandardCharsets.ISO_8859_1));
    }

    byte[] toBytes() {
        return bytes.getBytes(StandardCharsets.ISO_8859_1);
    }

    /** The first digits of its SHA-256, from which nobody can derive the value. */
    String id() {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(toBytes());
            return HexFormat.of().formatHex(Arrays.copyOf(digest, ID_LENGTH / 2));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this JDK has no SHA-256", e);
        }
    }

    String hex() {
        return HexFormat.of().formatHex(toBytes());
    }

    /** Whether a person means this value: by its id, or by all of its bytes. */
    boolean isMeantBy(String text) {
        return text.equalsIgnoreCase(id()) || text.equalsIgnoreCase(hex());
    }

    /** The name of the client that holds the lock; null if the value has none. */
    String holder() {
        var matcher = NAMED.matcher(bytes);
        return matcher.matches() ? matcher.group(1) : null;
    }

    /** Whether it has the form of this library. */
    boolean isToken() {
        return bytes.length() == TOKEN_LENGTH || holder() != null;
    }

    @Override
    public String toString() {
        return "LockValue{" + id() + "}";
    }
}
