package dev.redlock.transport;

import java.util.Arrays;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Errors about addresses: the address without what may be a password, the rule and the fix.
 *
 * <p>In a malformed address, any text between the first colon and the last {@code @} may belong to a password, and any
 * text after the first colon if there is no {@code @}. Errors show such text only if it has the form of a port or of
 * an IPv6 address.
 *
 * @threading any thread
 */
final class AddressErrors {

    static final String FORMS = "write host:port, redis://[user:password@]host[:port], rediss:// for TLS,"
            + " or unix:///path";
    static final String NULL = "node address is null: " + FORMS;

    private static final int SHOWN_LENGTH_MAX = 64;
    private static final int LIST_SHOWN_LENGTH_MAX = 255;
    /** Schemes that errors may show. Any other text may be the start of a password that contains {@code ://}. */
    private static final Set<String> SHOWN_SCHEMES = Set.of("redis", "rediss", "valkey", "valkeys", "redis-socket",
            "redis-sentinel", "rediss-sentinel", "redis-cluster", "rediss-cluster", "unix", "tcp", "http", "https");
    private static final String HOST = "(?:[\\w.-]++|\\[[0-9a-fA-F:.]++])";
    private static final String PORT = ":\\d{1,5}+";
    private static final String SEPARATORS = "[,;\\s]++";
    private static final Pattern SEPARATOR = Pattern.compile(SEPARATORS);
    private static final Pattern SEPARATOR_OF_URIS = Pattern.compile("[,;\\s](?:rediss?|unix)://");
    private static final Pattern PLACE = Pattern.compile(HOST + "(?:" + PORT + ")?");
    private static final Pattern PUBLIC_ADDRESS = Pattern.compile("(?:redis|rediss|valkey|valkeys|tcp|https?)://"
            + PLACE + "(?:/\\d{0,5}+)?|" + HOST + PORT + "(?:/\\d{0,5}+)?|[0-9a-fA-F]{0,4}::[0-9a-fA-F:]{0,39}"
            + "|unix:[\\w./-]*");
    private static final Pattern LISTED_ADDRESS = Pattern.compile("(?:rediss?://)?" + HOST + PORT);

    private AddressErrors() {
    }

    static IllegalArgumentException invalid(String text, String rule, String fix) {
        return new IllegalArgumentException("node address \"" + shown(text) + "\" is invalid: " + rule + "; " + fix);
    }

    static IllegalArgumentException unknownScheme(String text) {
        String scheme = scheme(text);
        if (scheme == null) {
            return invalid(text, "its scheme is unknown", FORMS);
        }
        return switch (scheme) {
            case "redis", "rediss" -> invalid(text, "its scheme is not in lower case", "write " + scheme + "://");
            case "valkey" -> invalid(text, "scheme valkey is unknown", "write redis:// instead");
            case "valkeys" -> invalid(text, "scheme valkeys is unknown", "write rediss:// instead");
            case "redis-cluster", "rediss-cluster" ->
                invalid(text, "it names a cluster where one server is expected", FORMS);
            case "redis-sentinel", "rediss-sentinel" ->
                invalid(text, "it names Sentinels where one server is expected", FORMS);
            default -> invalid(text, "scheme " + scheme + " is unknown", FORMS);
        };
    }

    /** @return true if the text separates hosts; a comma or a semicolon in a password does not */
    static boolean isList(String text) {
        boolean hasSeparator = SEPARATOR.matcher(text).region(text.lastIndexOf('@') + 1, text.length()).find();
        return hasSeparator && !text.startsWith("unix:") || SEPARATOR_OF_URIS.matcher(text).find();
    }

    /** @return the fix for a list, with the addresses of the list if none can contain a password */
    static String oneAddressPerArgument(String text) {
        String arguments = isPublicList(text)
                ? Arrays.stream(text.split(SEPARATORS)).collect(Collectors.joining("\", \"", "\"", "\""))
                : "\"h1:1\", \"h2:2\"";
        return "give one address per argument: connect(" + arguments + ")";
    }

    static String withPort(String text) {
        return isName(text)
                ? "write " + text + ":" + NodeAddress.DEFAULT_PORT + " if the node has the default port"
                : FORMS;
    }

    private static boolean isName(String text) {
        return leadingName(text).length() == text.length();
    }

    private static String shown(String text) {
        if (isPublicList(text) || text.length() <= LIST_SHOWN_LENGTH_MAX
                && PUBLIC_ADDRESS.matcher(text.strip()).matches()) {
            return text.strip();
        }
        String prefix = scheme(text) == null ? "" : scheme(text) + "://";
        int at = text.lastIndexOf('@');
        if (at >= 0) {
            Matcher place = PLACE.matcher(text).region(at + 1, Math.min(text.length(), at + SHOWN_LENGTH_MAX));
            return prefix + "..." + (place.matches() && place.end() == text.length() ? text.substring(at) : "");
        }
        if (!prefix.isEmpty()) {
            return prefix + "...";
        }
        return isName(text) ? text : leadingName(text) + "...";
    }

    private static boolean isPublicList(String text) {
        return text.length() <= LIST_SHOWN_LENGTH_MAX
                && SEPARATOR.matcher(text).find()
                && Arrays.stream(text.split(SEPARATORS)).allMatch(one -> LISTED_ADDRESS.matcher(one).matches());
    }

    /** @return the scheme in lower case if errors may show it; null otherwise */
    private static String scheme(String text) {
        String name = leadingName(text).toLowerCase(Locale.ROOT);
        return SHOWN_SCHEMES.contains(name) && text.startsWith("://", name.length()) ? name : null;
    }

    /** The prefix of letters, digits, dots, hyphens and underscores. */
    private static String leadingName(String text) {
        int length = 0;
        while (length < Math.min(SHOWN_LENGTH_MAX, text.length()) && isAsciiNameCharacter(text.charAt(length))) {
            length++;
        }
        return text.substring(0, length);
    }

    /** Resolvers of some systems accept names in other scripts. */
    static boolean isNameCharacter(char c) {
        return c < 128 ? isAsciiNameCharacter(c) : Character.isLetterOrDigit(c);
    }

    private static boolean isAsciiNameCharacter(char c) {
        return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_';
    }
}
