package dev.redlock.transport;

import java.net.URI;
import java.net.URISyntaxException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.Set;

/**
 * The address of a node and the credentials for it: {@code host:port}, {@code redis://[user:password@]host[:port]} or
 * {@code unix:///path}. IPv6 literals are in brackets.
 *
 * <p>{@link #toString} shows the address without user and password. An error about a malformed address shows only its
 * scheme, or the name before the first colon: any other part of a malformed address may belong to a password.
 *
 * @threading immutable
 */
public final class NodeAddress {

    /** The port of a {@code redis://} address without one. */
    public static final int DEFAULT_PORT = 6379;

    /** Longer than any host name or socket path of an operating system. */
    private static final int LENGTH_MAX = 255;
    private static final int SHOWN_LENGTH_MAX = 64;
    /** Types of characters that would make a log line misleading, as bits. */
    private static final int UNSHOWABLE_TYPES = 1 << Character.CONTROL | 1 << Character.FORMAT
            | 1 << Character.LINE_SEPARATOR | 1 << Character.PARAGRAPH_SEPARATOR | 1 << Character.SURROGATE;
    /** Schemes that errors may show. Any other text may be the start of a password that contains {@code ://}. */
    private static final Set<String> SHOWN_SCHEMES = Set.of("redis", "rediss", "valkey", "valkeys", "redis-socket",
            "redis-sentinel", "unix", "tcp", "http", "https");
    private static final String FORMS = "write host:port, redis://[user:password@]host[:port] or unix:///path";

    private final String host;
    private final int port;
    private final String path;
    private final String user;
    private final String password;

    private NodeAddress(String host, int port, String path, String user,
            String password) {
        this.host = host;
        this.port = port;
        this.path = path;
        this.user = user;
        this.password = password;
    }

    /**
     * Parses an address.
     *
     * @param text the address
     * @return the parsed address
     * @throws IllegalArgumentException if it has none of the three forms
     */
    public static NodeAddress parse(String text) {
        Objects.requireNonNull(text, "node address is null: " + FORMS);
        if (text.startsWith("unix:")) {
            return unix(text);
        }
        return text.contains("://") ? uri(text) : hostAndPort(text);
    }

    private static NodeAddress unix(String text) {
        String path = text.startsWith("unix://") ? text.substring("unix://".length()) : "";
        if (!path.startsWith("/") || path.length() < 2) {
            throw malformed(text, "a unix address needs an absolute path");
        }
        checkShowable(text, "path", path);
        return new NodeAddress(null, 0, path, null, null);
    }

    private static NodeAddress hostAndPort(String text) {
        int colon = text.lastIndexOf(':');
        if (text.indexOf('@') >= 0) {
            throw malformed(text, "user and password need the redis:// form");
        }
        if (colon <= 0) {
            throw malformed(text, "host or port is missing");
        }
        return new NodeAddress(checkedHost(text, text.substring(0, colon)),
                checkedPort(text, text.substring(colon + 1)), null, null, null);
    }

    private static NodeAddress uri(String text) {
        URI uri;
        try {
            uri = new URI(text);
        } catch (URISyntaxException e) {
            // Without the cause, because its message repeats the text with the password.
            throw malformed(text, "it is not a URI");
        }
        if (!text.startsWith("redis://")) {
            throw malformed(text,
                    hasScheme(text) ? "scheme " + leadingName(text) + " is unknown" : "its scheme is unknown");
        }
        if (uri.getHost() == null) {
            throw malformed(text, "host or port is missing or malformed");
        }
        if (uri.getRawQuery() != null || uri.getRawFragment() != null || !isRoot(uri.getRawPath())) {
            throw malformed(text, "nothing may follow the port; locks are in database 0");
        }
        String userInfo = uri.getRawUserInfo();
        // Before decoding, because an escaped colon is part of the user or of the password.
        int colon = userInfo == null ? -1 : userInfo.indexOf(':');
        if (userInfo != null && colon < 0) {
            throw malformed(text, "write user and password as user:password@ or :password@");
        }
        return new NodeAddress(checkedHost(text, uri.getHost()), uri.getPort() < 0 ? DEFAULT_PORT : inRange(text, uri),
                null, userInfo == null || colon == 0 ? null : decoded(text, userInfo.substring(0, colon)),
                userInfo == null ? null : decoded(text, userInfo.substring(colon + 1)));
    }

    /** Decodes percent escapes as UTF-8. A plus sign remains a plus sign, unlike in HTML forms. */
    private static String decoded(String text, String escaped) {
        byte[] raw = escaped.getBytes(StandardCharsets.UTF_8);
        ByteBuffer bytes = ByteBuffer.allocate(raw.length);
        for (int i = 0; i < raw.length; i++) {
            if (raw[i] == '%') {
                // URI has checked that two digits follow.
                bytes.put((byte) (Character.digit(raw[i + 1], 16) << 4 | Character.digit(raw[i + 2], 16)));
                i += 2;
            } else {
                bytes.put(raw[i]);
            }
        }
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(bytes.flip()).toString();
        } catch (CharacterCodingException e) {
            throw malformed(text, "user or password is not UTF-8");
        }
    }

    private static boolean isRoot(String path) {
        return path == null || path.isEmpty() || "/".equals(path) || "/0".equals(path);
    }

    private static int inRange(String text, URI uri) {
        return checkedPort(text, Integer.toString(uri.getPort()));
    }

    private static String checkedHost(String text, String host) {
        boolean isBracketed = host.startsWith("[") && host.endsWith("]");
        String bare = isBracketed ? host.substring(1, host.length() - 1) : host;
        if (!isBracketed && bare.indexOf(':') >= 0) {
            throw malformed(text, "an IPv6 address needs brackets");
        }
        if (bare.isBlank() || bare.chars().anyMatch(c -> c <= ' ' || c == '/' || isUnshowable((char) c))) {
            throw malformed(text, "host is missing or has a blank, a slash or a control character");
        }
        checkShowable(text, "host", bare);
        return bare;
    }

    /** Logs contain hosts and paths without escaping. */
    private static void checkShowable(String text, String what, String part) {
        if (part.length() > LENGTH_MAX) {
            throw malformed(text, what + " is longer than " + LENGTH_MAX + " characters");
        }
        if (part.chars().anyMatch(c -> isUnshowable((char) c))) {
            throw malformed(text, what + " has a control character");
        }
    }

    private static boolean isUnshowable(char c) {
        return (UNSHOWABLE_TYPES >> Character.getType(c) & 1) != 0;
    }

    private static int checkedPort(String text, String port) {
        boolean isNumber = !port.isEmpty() && port.length() <= 5
                && port.chars().allMatch(c -> c >= '0' && c <= '9');
        int value = isNumber ? Integer.parseInt(port) : 0;
        if (value < 1 || value > 65_535) {
            throw malformed(text, "port must be a number from 1 to 65535");
        }
        return value;
    }

    private static IllegalArgumentException malformed(String text, String rule) {
        return new IllegalArgumentException(
                "node address \"" + withoutSecrets(text) + "\" is malformed: " + rule + "; " + FORMS);
    }

    private static String withoutSecrets(String text) {
        String name = leadingName(text);
        if (hasScheme(text)) {
            return name + "://...";
        }
        boolean isAll = name.length() == text.length();
        return text.indexOf('@') >= 0 ? "..." : isAll ? name : name + "...";
    }

    private static boolean hasScheme(String text) {
        String name = leadingName(text);
        return SHOWN_SCHEMES.contains(name) && text.startsWith("://", name.length());
    }

    /** The prefix of letters, digits, dots, dashes and underscores. */
    private static String leadingName(String text) {
        int length = 0;
        while (length < Math.min(SHOWN_LENGTH_MAX, text.length()) && isNameCharacter(text.charAt(length))) {
            length++;
        }
        return text.substring(0, length);
    }

    private static boolean isNameCharacter(char c) {
        return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_';
    }

    /** @return true if the node listens on a Unix domain socket */
    public boolean isUnixSocket() {
        return path != null;
    }

    /** @return host name, or IP address without brackets; null for a Unix socket */
    public String host() {
        return host;
    }

    /** @return TCP port; 0 for a Unix socket */
    public int port() {
        return port;
    }

    /** @return path of the Unix socket; null for TCP */
    public String path() {
        return path;
    }

    /** @return user for authentication; null for the default user */
    public String user() {
        return user;
    }

    /** @return password, a secret; null for none */
    public String password() {
        return password;
    }

    /** Two addresses are equal if host and port, or path, are equal; credentials do not count. */
    @Override
    public boolean equals(Object o) {
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
