package dev.redlock.loadtest.nodes;

import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.Optional;

/**
 * Where one node listens, and with which credentials. {@link #toString()} never shows a password; {@link #uri()} does.
 *
 * @threading immutable
 */
public final class NodeAddress {
    private static final int PORT_MAX = 65535;
    private static final int SHOWN_LENGTH_MAX = 64;
    private static final String SCHEME = "redis://";
    private static final String UNIX_SCHEME = "unix://";
    private static final String RULE = "expected host:port, redis://[user:password@]host:port or unix:///path, port 1 "
            + "to " + PORT_MAX;

    private final String host;
    private final int port;
    private final String user;
    private final String password;
    private final String uri;
    private final String path;

    private NodeAddress(String host, int port, String user, String password, String uri) {
        this.host = host;
        this.port = port;
        this.user = user;
        this.password = password;
        this.uri = uri;
        this.path = null;
    }

    private NodeAddress(String path) {
        this.host = "";
        this.port = 0;
        this.user = null;
        this.password = null;
        this.uri = UNIX_SCHEME + path;
        this.path = path;
    }

    /**
     * Reads {@code host:port}, {@code redis://[user:password@]host:port} or {@code unix:///path}; an IPv6 host stands
     * in brackets.
     *
     * @param text the address
     * @return the parsed address
     * @throws IllegalArgumentException if the text has none of these forms; the message holds the host at most
     */
    public static NodeAddress parse(String text) {
        String trimmed = text.trim();
        if (trimmed.startsWith(UNIX_SCHEME)) {
            return unixSocket(trimmed.substring(UNIX_SCHEME.length()), trimmed);
        }
        String uri = trimmed.startsWith(SCHEME) ? trimmed : SCHEME + trimmed;
        URI parsed = parseUri(uri);
        if (parsed.getHost() == null || !isPort(parsed.getPort()) || hasMore(parsed)) {
            throw malformed(trimmed);
        }
        return of(parsed, trimmed);
    }

    /**
     * An address without credentials.
     *
     * @param host a host name or literal address
     * @param port 1 to 65535
     * @return the address
     */
    public static NodeAddress of(String host, int port) {
        return parse(host + ":" + port);
    }

    private static NodeAddress unixSocket(String path, String text) {
        if (!path.startsWith("/") || path.length() < 2) {
            throw malformed(text);
        }
        return new NodeAddress(path);
    }

    /**
     * The same credentials at another place, such as a proxy before the node.
     *
     * @param place where to connect to
     * @return an address with the host and port of that place
     */
    public NodeAddress at(NodeAddress place) {
        String where = place.host + ":" + place.port;
        String moved = password == null
                ? where
                : SCHEME + uri.substring(SCHEME.length(), uri.lastIndexOf('@') + 1) + where;
        return new NodeAddress(place.host, place.port, user, password, moved);
    }

    private static NodeAddress of(URI parsed, String text) {
        String info = parsed.getRawUserInfo();
        String host = parsed.getHost();
        if (info == null) {
            return new NodeAddress(host, parsed.getPort(), null, null, host + ":" + parsed.getPort());
        }
        int colon = info.indexOf(':');
        if (colon < 0) {
            throw malformed(text);
        }
        return new NodeAddress(host, parsed.getPort(), decode(info.substring(0, colon)),
                decode(info.substring(colon + 1)), text);
    }

    private static URI parseUri(String uri) {
        try {
            return new URI(uri);
        } catch (URISyntaxException e) {
            // The cause is left out on purpose: its message repeats the text, password included.
            throw malformed(uri);
        }
    }

    private static boolean isPort(int port) {
        return port >= 1 && port <= PORT_MAX;
    }

    private static boolean hasMore(URI parsed) {
        return !parsed.getRawPath().isEmpty() || parsed.getRawQuery() != null || parsed.getRawFragment() != null;
    }

    private static String decode(String escaped) {
        return URLDecoder.decode(escaped.replace("+", "%2B"), StandardCharsets.UTF_8);
    }

    private static IllegalArgumentException malformed(String text) {
        return new IllegalArgumentException("malformed node address '" + withoutSecrets(text) + "': " + RULE);
    }

    /**
     * No more than the name that the text begins with, and that only where no user can stand before it: whatever else
     * is in it may be a part of a password, because it is malformed.
     */
    private static String withoutSecrets(String text) {
        String rest = text.startsWith(SCHEME) ? text.substring(SCHEME.length()) : text;
        int length = 0;
        while (length < Math.min(SHOWN_LENGTH_MAX, rest.length()) && isNameCharacter(rest.charAt(length))) {
            length++;
        }
        boolean isAll = length == text.length();
        boolean isHidden = text.length() > rest.length() || text.indexOf('@') >= 0;
        return isHidden ? "***" : text.substring(0, length) + (isAll ? "" : "***");
    }

    private static boolean isNameCharacter(char c) {
        return c < 128 && (Character.isLetterOrDigit(c) || c == '.' || c == '-' || c == '_');
    }

    /**
     * Whether it is a socket file on this machine.
     *
     * @return true if there is a {@link #path()} and neither host nor port
     */
    public boolean isUnixSocket() {
        return path != null;
    }

    /**
     * The socket file.
     *
     * @return an absolute path, or null
     */
    public String path() {
        return path;
    }

    /**
     * The host without brackets.
     *
     * @return a name or a literal address; empty for a Unix socket
     */
    public String host() {
        return host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
    }

    /**
     * The TCP port.
     *
     * @return 1 to 65535; 0 for a Unix socket
     */
    public int port() {
        return port;
    }

    /**
     * The user to authenticate as.
     *
     * @return empty when the address has no user
     */
    public Optional<String> user() {
        return Optional.ofNullable(user).filter(name -> !name.isEmpty());
    }

    /**
     * The password to authenticate with.
     *
     * @return empty when the address has none
     */
    public Optional<String> password() {
        return Optional.ofNullable(password);
    }

    /**
     * The form that {@code Redlock.connect} takes, password included: for connecting, never for printing.
     *
     * @return {@code host:port}, the full {@code redis://} form, or {@code unix:///path}
     */
    public String uri() {
        return uri;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof NodeAddress that && port == that.port && host.equals(that.host)
                && Objects.equals(path, that.path);
    }

    @Override
    public int hashCode() {
        return Objects.hash(host, port, path);
    }

    /** Shows {@code host:port} or {@code unix:///path} only. */
    @Override
    public String toString() {
        return path == null ? host + ":" + port : uri;
    }
}
