package com.redis.testcontainers;

import dev.redlock.spring.StubContainer;

/** Has the name of a class of another library, which Spring Boot knows whatever its image. */
public class RedisContainer extends StubContainer {
    public RedisContainer() {
        super("example/cache");
    }
}
