package dev.redlock.transport;

import io.netty.buffer.ByteBufUtil;
import java.nio.CharBuffer;
import java.util.Arrays;

/**
 * User and password for one connection. The owner clears the password after its last use.
 *
 * @threading caller-confined; one thread hands it over to another
 */
public final class Login {

    /** A node accepts no longer text before the authentication. */
    private static final int LENGTH_BYTES_MAX = 16_384;

    private final String user;
    private final char[] password;
    private final long refreshAfterNs;

    /**
     * A login.
     *
     * @param user           null for the default user
     * @param password       owned by this object
     * @param refreshAfterNs time after which a connection has to authenticate again; 0 for never
     */
    public Login(String user, char[] password, long refreshAfterNs) {
        this.user = user;
        this.password = password;
        this.refreshAfterNs = refreshAfterNs;
    }

    /** @return the user; null for the default user */
    public String user() {
        return user;
    }

    /** @return a view of the password */
    public CharSequence password() {
        return CharBuffer.wrap(password);
    }

    /** @return the same user and password, with another time */
    public Login refreshedAfter(long ns) {
        return new Login(user, password, ns);
    }

    /** @return nanoseconds after which a connection has to authenticate again; 0 for never */
    public long refreshAfterNs() {
        return refreshAfterNs;
    }

    /**
     * Checks user and password.
     *
     * @return the rule that they break and the fix, without the values; null if they can be sent
     */
    public String problem() {
        if (user != null && user.isEmpty()) {
            return "the user is empty: give null for the default user";
        }
        if (isCleared()) {
            return "the password was cleared: the client clears each array after its use, so return a new one"
                    + " from each call";
        }
        String problem = user == null ? null : problemOf("user", user);
        return problem == null ? problemOf("password", CharBuffer.wrap(password)) : problem;
    }

    private boolean isCleared() {
        for (char c : password) {
            if (c != 0) {
                return false;
            }
        }
        return password.length > 0;
    }

    private static String problemOf(String what, CharSequence text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            boolean isPair = Character.isHighSurrogate(c) && i + 1 < text.length()
                    && Character.isLowSurrogate(text.charAt(i + 1));
            if (Character.isSurrogate(c) && !isPair) {
                return "the " + what + " contains half of a character: give text that UTF-8 can encode";
            }
            i += isPair ? 1 : 0;
        }
        return ByteBufUtil.utf8Bytes(text) > LENGTH_BYTES_MAX
                ? "the " + what + " is longer than " + LENGTH_BYTES_MAX
                        + " bytes, which no node accepts before the authentication: give a shorter one"
                : null;
    }

    /** Overwrites the password. */
    public void clear() {
        Arrays.fill(password, '\0');
    }

    /** Shows neither user nor password. */
    @Override
    public String toString() {
        return "Login";
    }
}
