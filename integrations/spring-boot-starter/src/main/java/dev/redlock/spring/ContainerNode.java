package dev.redlock.spring;

import java.util.List;
import java.util.Map;

/**
 * The server in a container, as a node.
 *
 * @param port     the published one
 * @param password null for none
 * @threading immutable
 */
record ContainerNode(String host, int port, boolean isTls, String password) implements RedlockConnectionDetails {

    /** The name of a connection that is dedicated to locks. */
    static final String DEDICATED = "redlock";

    /** The images that Spring Boot knows for Redis, and their counterparts for Valkey. */
    static final List<String> IMAGES = List.of("redis", "redis/redis-stack", "redis/redis-stack-server",
            "valkey/valkey", "bitnami/redis", "bitnami/valkey");

    static final int PORT = 6379;

    private static final List<String> PASSWORD_VARIABLES = List.of("REDIS_PASSWORD", "VALKEY_PASSWORD");

    /**
     * Returns the password of an image that takes it from the environment. Other images do not: a variable with that
     * name may mean another server.
     */
    static String passwordOf(String image, Map<String, String> environment) {
        boolean isUsed = image.matches("(.*/)?bitnami/.*");
        return PASSWORD_VARIABLES.stream()
                .map(environment::get)
                .filter(password -> isUsed && password != null && !password.isEmpty())
                .findFirst()
                .orElse(null);
    }

    @Override
    public List<String> getNodes() {
        return List.of((isTls ? "rediss://" : "redis://") + DataRedisProperties.bracketed(host) + ":" + port);
    }

    @Override
    public String getPassword() {
        return password;
    }

    /** Without the password. */
    @Override
    public String toString() {
        return getNodes().get(0);
    }
}
