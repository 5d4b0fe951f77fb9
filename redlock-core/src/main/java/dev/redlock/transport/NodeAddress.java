package dev.redlock.transport;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.Objects;

/**
 * Where a node listens, and who we are there: {@code host:port}, {@code redis://[user:password@]host[:port]} or
 * {@code unix:///path}. IPv6 literals stand in brackets.
 *
 * <p>{@link #toString} and every error show the address without user and password.
 *
 * @threading immutable
 */
public final class NodeAddress {

    /** The port of Redis where a {@code redis://} address names none. */
    public static final int DEFAULT_PORT = 6379;

    private static final String FORMS = "write host:port, redis://[user:password@]host[:port] or unix:///path";

    private final String host;
    private final int port;
    private final String path;
    private final String user;
    private final String password;

    private NodeAddress(final String host, final int port, final String path, final String user,
            final String password) {
        this.host = host;
        this.port = port;
        this.path = path;
        this.user = user;
        this.password = password;
    }

    /**
     * Reads an address.
     *
     * @param text the address
     * @return it
     * @throws IllegalArgumentException if it has none of the three forms
     */
    public static NodeAddress parse(final String text) {
        Objects.requireNonNull(text, "node address is null: " + FORMS);
        if (text.startsWith("unix:")) {
            return unix(text);
        }
        return text.contains("://") ? uri(text) : hostAndPort(text);
    }

    private static NodeAddress unix(final String text) {
        final String path = text.startsWith("unix://") ? text.substring("unix://".length()) : "";
        if (!path.startsWith("/") || path.length() < 2) {
            throw malformed(text, "a unix address needs an absolute path");
        }
        return new NodeAddress(null, 0, path, null, null);
    }

    private static NodeAddress hostAndPort(final String text) {
        final int colon = text.lastIndexOf(':');
        if (text.indexOf('@') >= 0) {
            throw malformed(text, "user and password need the redis:// form");
        }
        if (colon <= 0) {
            throw malformed(text, "host or port is missing");
        }
        return new NodeAddress(checkedHost(text, text.substring(0, colon)),
                checkedPort(text, text.substring(colon + 1)), null, null, null);
    }

    private static NodeAddress uri(final String text) {
        final URI uri;
        try {
            uri = new URI(text);
        } catch (final URISyntaxException e) {
            // The cause is left out: its message repeats the text, password and all.
            throw malformed(text, "it is no URI");
        }
        if (!"redis".equals(uri.getScheme())) {
            throw malformed(text, "scheme " + uri.getScheme() + " is unknown");
        }
        if (uri.getHost() == null) {
            throw malformed(text, "host is missing");
        }
        if (uri.getRawQuery() != null || uri.getRawFragment() != null || !isRoot(uri.getRawPath())) {
            throw malformed(text, "nothing may follow the port; locks live in database 0");
        }
        final String userInfo = uri.getUserInfo();
        final int colon = userInfo == null ? -1 : userInfo.indexOf(':');
        if (userInfo != null && colon < 0) {
            throw malformed(text, "user and password are written user:password@ or :password@");
        }
        return new NodeAddress(checkedHost(text, uri.getHost()), uri.getPort() < 0 ? DEFAULT_PORT : inRange(text, uri),
                null, userInfo == null || colon == 0 ? null : userInfo.substring(0, colon),
                userInfo == null ? null : userInfo.substring(colon + 1));
    }

    private static boolean isRoot(final String path) {
        return path == null || path.isEmpty() || "/".equals(path) || "/0".equals(path);
    }

    private static int inRange(final String text, final URI uri) {
        return checkedPort(text, Integer.toString(uri.getPort()));
    }

    private static String checkedHost(final String text, final String host) {
        final boolean isBracketed = host.startsWith("[") && host.endsWith("]");
        final String bare = isBracketed ? host.substring(1, host.length() - 1) : host;
        if (!isBracketed && bare.indexOf(':') >= 0) {
            throw malformed(text, "an IPv6 address stands in brackets");
        }
        if (bare.isBlank() || bare.chars().anyMatch(c -> c <= ' ' || c == '/')) {
            throw malformed(text, "host is missing or has a blank or a slash");
        }
        return bare;
    }

    private static int checkedPort(final String text, final String port) {
        final boolean isNumber = !port.isEmpty() && port.length() <= 5
                && port.chars().allMatch(c -> c >= '0' && c <= '9');
        final int value = isNumber ? Integer.parseInt(port) : 0;
        if (value < 1 || value > 65_535) {
            throw malformed(text, "port must be a number from 1 to 65535");
        }
        return value;
    }

    private static IllegalArgumentException malformed(final String text, final String rule) {
        return new IllegalArgumentException(
                "node address \"" + withoutSecret(text) + "\" is malformed: " + rule + "; " + FORMS);
    }

    private static String withoutSecret(final String text) {
        final int at = text.lastIndexOf('@');
        return at < 0 ? text : "...@" + text.substring(at + 1);
    }

    /** @return true if the node listens on a Unix domain socket */
    public boolean isUnixSocket() {
        return path != null;
    }

    /** @return host name or literal without brackets; null for a Unix socket */
    public String host() {
        return host;
    }

    /** @return TCP port; 0 for a Unix socket */
    public int port() {
        return port;
    }

    /** @return path of the Unix socket, or null */
    public String path() {
        return path;
    }

    /** @return user to authenticate as, or null for the default user */
    public String user() {
        return user;
    }

    /** @return password, or null for none; a secret */
    public String password() {
        return password;
    }

    /** Two addresses are equal if they name the same place, whoever we are there. */
    @Override
    public boolean equals(final Object o) {
        return o instanceof NodeAddress other && port == other.port && Objects.equals(path, other.path)
                && (host == null ? other.host == null : host.equalsIgnoreCase(other.host));
    }

    @Override
    public int hashCode() {
        return 31 * port + (path == null ? host.toLowerCase(java.util.Locale.ROOT).hashCode() : path.hashCode());
    }

    @Override
    public String toString() {
        if (path != null) {
            return "unix://" + path;
        }
        return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
    }
}
