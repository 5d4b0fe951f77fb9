package dev.redlock.transport;

import io.netty.util.NetUtil;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * The address of a node and the credentials for it: {@code host:port}, {@code redis://[user:password@]host[:port]},
 * {@code rediss://[user:password@]host[:port]} for TLS, or {@code unix:///path}. IPv6 literals are in brackets.
 *
 * <p>{@link #toString} shows the address without user and password, and so do errors ({@link AddressErrors}).
 *
 * @threading immutable
 */
public final class NodeAddress implements VoterAddress {

    /** The port of a {@code redis://} or {@code rediss://} address without one. */
    public static final int DEFAULT_PORT = 6379;

    /** Longer than any host name or socket path of an operating system. */
    private static final int LENGTH_MAX = 255;
    /** Types of characters that would make a log line misleading, as bits. */
    private static final int UNSHOWABLE_TYPES = 1 << Character.CONTROL | 1 << Character.FORMAT
            | 1 << Character.LINE_SEPARATOR | 1 << Character.PARAGRAPH_SEPARATOR | 1 << Character.SURROGATE;
    private static final String REDIS = "redis://";
    private static final String REDIS_TLS = "rediss://";
    private static final String UNIX = "unix:";
    /** In a URI, user and password contain these characters only in percent-encoding. */
    private static final String ENCODED_ONLY = "@/?#[]\\\"<>^`{|} ";

    private final String host;
    private final int port;
    private final String path;
    private final String user;
    private final char[] password;
    private final boolean isTls;

    private NodeAddress(String host, int port, String path, String user, char[] password, boolean isTls) {
        this.host = host;
        this.port = port;
        this.path = path;
        this.user = user;
        this.password = password;
        this.isTls = isTls;
    }

    /**
     * Parses an address.
     *
     * @throws IllegalArgumentException if it has none of the four forms
     */
    public static NodeAddress parse(String text) {
        Objects.requireNonNull(text, AddressErrors.NULL);
        checkOne(text);
        if (text.startsWith(UNIX)) {
            return unix(text);
        }
        if (!text.startsWith(REDIS) && !text.startsWith(REDIS_TLS) && text.contains("://")) {
            throw AddressErrors.unknownScheme(text);
        }
        return tcp(text);
    }

    /** A list of addresses in one text is the most common mistake, because configuration files contain lists. */
    private static void checkOne(String text) {
        if (text.isBlank()) {
            throw AddressErrors.invalid(text, "it is empty", AddressErrors.FORMS);
        }
        if (Character.isWhitespace(text.charAt(0)) || Character.isWhitespace(text.charAt(text.length() - 1))) {
            throw AddressErrors.invalid(text, "it begins or ends with a blank or a line break", "remove it");
        }
        if (AddressErrors.isList(text)) {
            throw AddressErrors.invalid(text, "it has a comma, a semicolon or a blank",
                    AddressErrors.oneAddressPerArgument(text));
        }
    }

    private static NodeAddress unix(String text) {
        String path = text.startsWith("unix://") ? text.substring("unix://".length()) : "";
        if (!path.startsWith("/") || path.length() < 2) {
            throw AddressErrors.invalid(text, "a Unix socket has an absolute path, and no user and password",
                    "write unix:///path");
        }
        checkShowable(text, "path", path);
        return new NodeAddress(null, 0, path, null, null, false);
    }

    private static NodeAddress tcp(String text) {
        boolean isTls = text.startsWith(REDIS_TLS);
        boolean isUri = isTls || text.startsWith(REDIS);
        String rest = isUri ? text.substring(text.indexOf("://") + "://".length()) : text;
        int at = rest.lastIndexOf('@');
        String userInfo = at < 0 ? null : rest.substring(0, at);
        if (userInfo != null && !isUri) {
            throw AddressErrors.invalid(text, "user and password need the redis:// form",
                    "write redis://user:password@host:port");
        }
        checkEncoded(text, userInfo);
        String place = withoutDatabase(text, rest.substring(at + 1), isUri);
        int colon = portColon(text, place);
        String host = checkedHost(text, colon < 0 ? place : place.substring(0, colon));
        if (colon < 0 && !isUri) {
            throw AddressErrors.invalid(text, "the port is missing", AddressErrors.withPort(text));
        }
        int port = colon < 0 ? DEFAULT_PORT : checkedPort(text, place.substring(colon + 1));
        // Before decoding, because an escaped colon is part of the user or of the password.
        int separator = userInfo == null ? -1 : userInfo.indexOf(':');
        if (userInfo != null && separator < 0) {
            throw AddressErrors.invalid(text, "user and password are separated by a colon",
                    "write user:password@ or :password@");
        }
        return new NodeAddress(host, port, null,
                separator <= 0 ? null : new String(decoded(text, userInfo.substring(0, separator))),
                userInfo == null ? null : decoded(text, userInfo.substring(separator + 1)), isTls);
    }

    private static void checkEncoded(String text, String userInfo) {
        if (userInfo == null) {
            return;
        }
        for (int i = 0; i < userInfo.length(); i++) {
            char c = userInfo.charAt(i);
            if (ENCODED_ONLY.indexOf(c) >= 0 || Character.isISOControl(c) || Character.isSpaceChar(c)
                    || c == '%' && !isEscape(userInfo, i)) {
                throw AddressErrors.invalid(text, "user or password has a character that must be percent-encoded",
                        "write %40 for @, %2F for /, %23 for #, %3F for ?, %25 for %, %20 for a blank,"
                                + " and other special characters in the same way");
            }
        }
    }

    private static boolean isEscape(String text, int index) {
        return index + 2 < text.length() && hexDigit(text.charAt(index + 1)) >= 0
                && hexDigit(text.charAt(index + 2)) >= 0;
    }

    /** ASCII digits only, unlike {@link Character#digit}. */
    private static int hexDigit(char c) {
        return c < 128 ? Character.digit(c, 16) : -1;
    }

    /** The host and the port. A database may follow them in the redis:// form, and only database 0. */
    private static String withoutDatabase(String text, String place, boolean isUri) {
        int end = 0;
        while (end < place.length() && "/?#".indexOf(place.charAt(end)) < 0) {
            end++;
        }
        String database = place.substring(end);
        if (!database.isEmpty() && !(isUri && (database.equals("/") || database.equals("/0")))) {
            throw AddressErrors.invalid(text, "nothing may follow the port; all locks are in database 0",
                    "remove the text after the port");
        }
        return place.substring(0, end);
    }

    /** @return the index of the colon before the port; -1 if there is no port */
    private static int portColon(String text, String place) {
        int bracket = place.startsWith("[") ? place.indexOf(']') : -1;
        if (bracket >= 0) {
            if (bracket + 1 < place.length() && place.charAt(bracket + 1) != ':') {
                throw AddressErrors.invalid(text, "only a colon and the port may follow the brackets",
                        "write [::1]:6379");
            }
            return bracket + 1 < place.length() ? bracket + 1 : -1;
        }
        int colon = place.lastIndexOf(':');
        if (colon != place.indexOf(':')) {
            boolean isIpv6 = NetUtil.isValidIpV6Address(place)
                    || NetUtil.isValidIpV6Address(place.substring(0, colon));
            throw AddressErrors.invalid(text,
                    isIpv6 ? "an IPv6 address needs brackets" : "it has more than one colon",
                    isIpv6 ? "write [::1]:6379" : AddressErrors.FORMS);
        }
        return colon;
    }

    private static String checkedHost(String text, String host) {
        boolean isBracketed = host.startsWith("[") && host.endsWith("]");
        String bare = isBracketed ? host.substring(1, host.length() - 1) : host;
        if (isBracketed && !NetUtil.isValidIpV6Address(bare)) {
            throw AddressErrors.invalid(text, "brackets contain an IPv6 address", "write [::1]:6379 or host:port");
        }
        if (bare.isEmpty()) {
            throw AddressErrors.invalid(text, "the host is missing", AddressErrors.FORMS);
        }
        checkShowable(text, "host", bare);
        if (!isBracketed && bare.chars().anyMatch(c -> !AddressErrors.isNameCharacter((char) c))) {
            throw AddressErrors.invalid(text, "a host has letters, digits, dots, hyphens and underscores only",
                    AddressErrors.FORMS);
        }
        return bare;
    }

    /** Logs contain hosts and paths without escaping. */
    private static void checkShowable(String text, String what, String part) {
        if (part.length() > LENGTH_MAX) {
            throw AddressErrors.invalid(text, "the " + what + " is longer than " + LENGTH_MAX + " characters",
                    AddressErrors.FORMS);
        }
        if (part.chars().anyMatch(c -> isUnshowable((char) c))) {
            throw AddressErrors.invalid(text, "the " + what + " has a control character", "remove it");
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
            throw AddressErrors.invalid(text, "the port must be a number from 1 to 65535", AddressErrors.FORMS);
        }
        return value;
    }

    /** Decodes percent escapes as UTF-8. A plus sign remains a plus sign, unlike in HTML forms. */
    private static char[] decoded(String text, String escaped) {
        byte[] bytes = escaped.getBytes(StandardCharsets.UTF_8);
        int length = 0;
        for (int i = 0; i < bytes.length; i++) {
            if (bytes[i] == '%') {
                // checkEncoded has found two digits.
                bytes[length++] = (byte) (hexDigit((char) bytes[i + 1]) << 4 | hexDigit((char) bytes[i + 2]));
                i += 2;
            } else {
                bytes[length++] = bytes[i];
            }
        }
        CharBuffer chars = CharBuffer.allocate(length);
        boolean isUtf8 = !StandardCharsets.UTF_8.newDecoder()
                .decode(ByteBuffer.wrap(bytes, 0, length), chars, true)
                .isError();
        char[] decoded = Arrays.copyOf(chars.array(), chars.position());
        Arrays.fill(bytes, (byte) 0);
        Arrays.fill(chars.array(), '\0');
        if (!isUtf8) {
            throw AddressErrors.invalid(text, "user or password is not UTF-8",
                    "percent-encode the bytes of the text in UTF-8");
        }
        return decoded;
    }

    /** @return true if the node listens on a Unix domain socket */
    public boolean isUnixSocket() {
        return path != null;
    }

    /** @return true if the connection is encrypted: {@code rediss://} */
    @Override
    public boolean isTls() {
        return isTls;
    }

    @Override
    public List<NodeAddress> servers() {
        return List.of(this);
    }

    @Override
    public NodeAddress access() {
        return this;
    }

    boolean isLoginOf(NodeAddress other) {
        return Objects.equals(user, other.user) && Arrays.equals(password, other.password);
    }

    /**
     * Returns the address of another server that gets the same credentials and TLS.
     *
     * @param otherHost its host name or IP address without brackets; null for the same host
     * @param otherPort its port, 1 to 65535
     * @throws IllegalArgumentException if the host is malformed
     */
    public NodeAddress peer(String otherHost, int otherPort) {
        String checked = otherHost == null
                ? host
                : checkedHost(otherHost, otherHost.indexOf(':') >= 0 ? "[" + otherHost + "]" : otherHost);
        return new NodeAddress(checked, otherPort, null, user, password, isTls);
    }

    /** @return whether the host is an IP address, which needs no look-up */
    public boolean isIpAddress() {
        return host != null && (NetUtil.isValidIpV4Address(host) || NetUtil.isValidIpV6Address(host));
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

    /** @return whether the address has a password */
    @Override
    public boolean hasPassword() {
        return password != null;
    }

    /** @return a copy of the password, a secret, for programs that need a string; null for none */
    public String password() {
        return password == null ? null : new String(password);
    }

    /** @return user and a copy of the password, which the caller clears; null without a password */
    public Login login() {
        return password == null ? null : new Login(user, password.clone(), 0);
    }

    /** Two addresses are equal if host and port, or path, are equal; credentials and TLS do not count. */
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
        return (isTls ? REDIS_TLS : "") + place();
    }

    /** Returns host and port. */
    String place() {
        return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
    }
}
