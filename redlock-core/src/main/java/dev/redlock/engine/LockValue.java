package dev.redlock.engine;

import dev.redlock.quorum.Token;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The value of a lock's key. It is a secret, because its owner can release the lock. So people get its id.
 *
 * @param bytes the value, one char for each byte
 * @threading immutable
 */
public record LockValue(String bytes) {

    /** Hexadecimal digits of an id: enough to distinguish the few values of one lock. */
    public static final int ID_LENGTH = 8;

    /** A value with the name that {@code RedlockContext.nameInValues} appends to the token. */
    private static final Pattern NAMED = Pattern
            .compile("(?s).{" + Token.LENGTH + "}@([!-~]{1," + Token.NAME_LENGTH_MAX + "})");

    /** The value with these bytes. */
    public static LockValue of(byte[] bytes) {
        return new LockValue(new String(bytes, StandardCharsets.ISO_8859_1));
    }

    private byte[] toBytes() {
        return bytes.getBytes(StandardCharsets.ISO_8859_1);
    }

    /** @return the first digits of its SHA-256, from which nobody can derive a random value */
    public String id() {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(toBytes());
            return HexFormat.of().formatHex(digest, 0, ID_LENGTH / 2);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this JDK has no SHA-256", e);
        }
    }

    /** @return all bytes, hexadecimal */
    public String hex() {
        return HexFormat.of().formatHex(toBytes());
    }

    /** Returns whether a person means this value: by its id, or by all of its bytes. */
    public boolean isMeantBy(String text) {
        return text.equalsIgnoreCase(id()) || text.equalsIgnoreCase(hex());
    }

    /** @return the name of the client that holds the lock; null if the value has none */
    public String holder() {
        Matcher named = NAMED.matcher(bytes);
        return named.matches() ? named.group(1) : null;
    }

    /** @return whether it has the form of this library */
    public boolean isToken() {
        return bytes.length() == Token.LENGTH || holder() != null;
    }

    @Override
    public String toString() {
        return "LockValue{" + id() + "}";
    }
}
