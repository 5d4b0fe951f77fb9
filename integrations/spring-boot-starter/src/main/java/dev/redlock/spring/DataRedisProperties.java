package dev.redlock.spring;

import dev.redlock.Credentials;
import dev.redlock.RedlockContext;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.springframework.boot.context.properties.bind.Binder;

/**
 * The properties {@code spring.data.redis.*}, which name the Redis of an application: the node of a client without
 * {@code redlock.nodes}. As Spring Boot does, Sentinels precede a cluster, a cluster precedes one server, and the URL
 * of a server replaces its host, port, user and password. {@code ssl.enabled} adds TLS to each of them; without it, a
 * bundle of certificates does.
 *
 * @threading immutable
 */
record DataRedisProperties(Binder binder) {

    private static final String PREFIX = "spring.data.redis.";
    private static final String HOST_DEFAULT = "localhost";
    private static final String PORT_DEFAULT = "6379";

    /**
     * A node and its origin.
     *
     * @param property where the address is
     * @param login    user and password with a colon between them, percent-encoded; null for none
     * @threading immutable
     */
    private record Found(String property, String address, String login) {
    }

    /** Adds the node, and the credentials; returns the property that names the node, null if none does. */
    String applyTo(RedlockContext context) {
        Found found = find();
        if (found == null) {
            return null;
        }
        String password = get("sentinel.password");
        if (password != null && found.property.startsWith("sentinel")) {
            String user = get("sentinel.username");
            context.sentinelCredentials(sentinel -> credentials(user, password));
        }
        context.nodes(found.login == null || context.hasCredentials()
                ? found.address
                : withLogin(found.address, found.login));
        return PREFIX + found.property;
    }

    private static String withLogin(String address, String login) {
        int end = address.indexOf("://");
        return end < 0
                ? "redis://" + login + "@" + address
                : address.substring(0, end) + "://" + login + "@" + address.substring(end + "://".length());
    }

    /** Returns an address with a user, which may be null, and a password. */
    static String withLogin(String address, String user, String password) {
        return withLogin(address, loginOf(user, password));
    }

    static Credentials credentials(String user, String password) {
        return user == null ? Credentials.of(password.toCharArray()) : Credentials.of(user, password.toCharArray());
    }

    private Found find() {
        String master = get("sentinel.master");
        List<String> sentinels = list("sentinel.nodes");
        if (master != null || !sentinels.isEmpty()) {
            return new Found("sentinel.nodes", scheme("-sentinel") + String.join(",", sentinels) + "/"
                    + (master == null ? "" : master), login());
        }
        List<String> cluster = list("cluster.nodes");
        if (!cluster.isEmpty()) {
            return new Found("cluster.nodes", scheme("-cluster") + String.join(",", cluster), login());
        }
        String url = get("url");
        if (url != null) {
            return ofUrl(url);
        }
        String host = get("host");
        String port = get("port");
        return host == null && port == null
                ? null
                : new Found(host == null ? "port" : "host", scheme("")
                        + (host == null ? HOST_DEFAULT : bracketed(host)) + ":" + (port == null ? PORT_DEFAULT : port),
                        login());
    }

    private String scheme(String kind) {
        return (isTls() ? "rediss" : "redis") + kind + "://";
    }

    /** Spring's binder reads the value: other spellings of true must not send a password in clear text. */
    private boolean isTls() {
        return binder.bind(PREFIX + "ssl.enabled", Boolean.class).orElseGet(this::hasBundle);
    }

    static String bracketed(String host) {
        return host.indexOf(':') >= 0 && !host.startsWith("[") ? "[" + host + "]" : host;
    }

    private String login() {
        String password = get("password");
        String user = get("username");
        return password == null ? null : loginOf(user, password);
    }

    private static String loginOf(String user, String password) {
        return (user == null ? "" : encoded(user)) + ":" + encoded(password);
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    /** A database follows the port, and is another one than that of locks; a user without a password is a password. */
    private Found ofUrl(String url) {
        URI uri;
        try {
            uri = URI.create(url);
        } catch (IllegalArgumentException e) {
            // Its message has the password.
            throw new IllegalArgumentException(PREFIX + "url is no URL: write redis://[user:password@]host[:port], with"
                    + " special characters percent-encoded");
        }
        if (uri.getHost() == null || !("redis".equals(uri.getScheme()) || "rediss".equals(uri.getScheme()))) {
            throw new IllegalArgumentException(PREFIX + "url has no host, or another scheme than redis:// and"
                    + " rediss://: write redis://[user:password@]host[:port]");
        }
        String login = uri.getRawUserInfo();
        String scheme = uri.getScheme().equals("rediss") ? "rediss://" : scheme("");
        return new Found("url", scheme + uri.getHost() + ":"
                + (uri.getPort() < 0 ? PORT_DEFAULT : uri.getPort()),
                login == null || login.indexOf(':') >= 0 ? login : ":" + login);
    }

    private String get(String name) {
        String value = binder.bind(PREFIX + name, String.class).orElse(null);
        return value == null || value.isBlank() ? null : value;
    }

    private List<String> list(String name) {
        return Arrays.stream(binder.bind(PREFIX + name, String[].class).orElse(new String[0]))
                .map(String::strip)
                .collect(Collectors.toList());
    }

    /** Whether a bundle of certificates is set, which only a {@code RedlockContextCustomizer} can pass on. */
    boolean hasBundle() {
        return get("ssl.bundle") != null;
    }
}
