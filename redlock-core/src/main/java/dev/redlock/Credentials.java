package dev.redlock;

import dev.redlock.api.CheckReturnValue;
import dev.redlock.transport.Login;
import java.time.Duration;
import java.util.Objects;

/**
 * User and password for one connection, from a {@link CredentialsProvider}.
 *
 * <p>The password array belongs to the client from the provider's return on. The client overwrites it with zeros as
 * soon as the node has answered the command that contains it, so every call of the provider returns a new array.
 *
 * @threading immutable, except for the password, which the client clears
 */
public final class Credentials {

    private static final Duration REFRESH_MIN = Duration.ofSeconds(1);
    private static final Duration REFRESH_MAX = Duration.ofDays(365);

    final Login login;

    private Credentials(Login login) {
        this.login = login;
    }

    /**
     * Credentials of the default user.
     *
     * @param password the password; not copied
     */
    public static Credentials of(char[] password) {
        return new Credentials(new Login(null, Objects.requireNonNull(password, "password is null"), 0));
    }

    /**
     * Credentials of an ACL user.
     *
     * @param password the password; not copied
     */
    public static Credentials of(String user, char[] password) {
        return new Credentials(new Login(Objects.requireNonNull(user, "user is null: omit it for the default user"),
                Objects.requireNonNull(password, "password is null"), 0));
    }

    /**
     * Sets the time after which the client asks the provider again and authenticates the live connection with the
     * result. Locks are not disturbed. If the provider fails or the node refuses, the client keeps the connection,
     * shows the reason in {@link NodeStatus#problem()} and tries again after 2.5 to 5 s.
     *
     * @param time 1 s to 365 days, shorter than the life of a token
     * @return new credentials with the same user and password array
     * @throws IllegalArgumentException if it is out of range
     */
    @CheckReturnValue
    public Credentials refreshAfter(Duration time) {
        Objects.requireNonNull(time, "refreshAfter is null: give a duration, or do not set it");
        if (time.compareTo(REFRESH_MIN) < 0 || time.compareTo(REFRESH_MAX) > 0) {
            throw new IllegalArgumentException("refreshAfter " + time + " is out of range: 1 s to 365 days are allowed;"
                    + " do not set it to keep each connection as it is");
        }
        return new Credentials(login.refreshedAfter(time.toNanos()));
    }

    /** Shows neither user nor password. */
    @Override
    public String toString() {
        return "Credentials{refreshAfterNs=" + login.refreshAfterNs() + "}";
    }
}
