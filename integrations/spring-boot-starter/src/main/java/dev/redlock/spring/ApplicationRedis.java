package dev.redlock.spring;

import dev.redlock.RedlockContext;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The Redis of the application, from a bean of the connection details of Spring Data Redis. Like the properties
 * {@code spring.data.redis.*}, which it replaces, it is the node of a client that names none.
 *
 * @param address         without user and password
 * @param username        null for none
 * @param password        null for none
 * @param sentinelLogin   the user and the password of the Sentinels; null for none
 * @param hasCertificates whether there are certificates, which only a {@code RedlockContextCustomizer} can pass on
 * @threading immutable
 */
record ApplicationRedis(String address, String username, String password, Login sentinelLogin,
        boolean hasCertificates) {

    /**
     * Finds the bean, whose type depends on the version of Spring Boot.
     *
     * @threading any thread
     */
    @FunctionalInterface
    interface Source {
        /** @return null if there is no such bean, or more than one */
        ApplicationRedis find();
    }

    /**
     * The user and the password of servers.
     *
     * @param username null for none
     * @threading immutable
     */
    record Login(String username, String password) {
        static Login of(String username, String password) {
            return password == null ? null : new Login(username, password);
        }

        @Override
        public String toString() {
            return "Login";
        }
    }

    /**
     * The host and port of a server.
     *
     * @threading immutable
     */
    record Server(String host, int port) {
        @Override
        public String toString() {
            return DataRedisProperties.bracketed(host) + ":" + port;
        }
    }

    /** The bean that Spring Boot makes of the properties: these are read without it, and do not precede others. */
    static boolean isOfProperties(Object details) {
        return details.getClass().getName().matches("org\\.springframework\\.boot\\..*\\.Properties[A-Za-z]*Details");
    }

    static String standalone(Server server, boolean isTls) {
        return scheme("", isTls) + server;
    }

    static String sentinels(String master, List<Server> sentinels, boolean isTls) {
        return scheme("-sentinel", isTls) + joined(sentinels) + "/" + master;
    }

    static String cluster(List<Server> servers, boolean isTls) {
        return scheme("-cluster", isTls) + joined(servers);
    }

    private static String joined(List<Server> servers) {
        return servers.stream().map(Server::toString).collect(Collectors.joining(","));
    }

    private static String scheme(String kind, boolean isTls) {
        return (isTls ? "rediss" : "redis") + kind + "://";
    }

    /** Adds the node, with its credentials unless there are some. */
    void applyTo(RedlockContext context) {
        if (sentinelLogin != null) {
            context.sentinelCredentials(
                    sentinel -> DataRedisProperties.credentials(sentinelLogin.username, sentinelLogin.password));
        }
        context.nodes(password == null || context.hasCredentials()
                ? address
                : DataRedisProperties.withLogin(address, username, password));
    }

    /** Without passwords. */
    @Override
    public String toString() {
        return address;
    }
}
