package dev.redlock.testing;

import java.util.function.Function;

/** Access to a cluster: each key is on the server that a function chooses. */
public record RoutedAccess(Function<String, NodeAccess> server) implements NodeAccess {

    @Override
    public String get(String key) {
        return server.apply(key).get(key);
    }

    @Override
    public boolean setIfAbsent(String key, String value, long ttlMs) {
        return server.apply(key).setIfAbsent(key, value, ttlMs);
    }

    @Override
    public void setHash(String key, long ttlMs) {
        server.apply(key).setHash(key, ttlMs);
    }

    @Override
    public boolean delete(String key) {
        return server.apply(key).delete(key);
    }

    @Override
    public long pttl(String key) {
        return server.apply(key).pttl(key);
    }
}
