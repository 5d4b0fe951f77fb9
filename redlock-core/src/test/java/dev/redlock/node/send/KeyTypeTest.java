package dev.redlock.node.send;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class KeyTypeTest {

    @ParameterizedTest
    @CsvSource({"none, NONE, false", "string, STRING, false", "zset, ZSET, false", "hash, HASH, true",
        "list, LIST, true", "set, SET, true", "stream, STREAM, true", "ReJSON-RL, OTHER, true", "'', OTHER, true"})
    void namesOfServers(String name, KeyType type, boolean isForeign) {
        assertEquals(type, KeyType.named(name));
        assertEquals(type, KeyType.of(type.ordinal()));
        assertEquals(isForeign, type.isForeign());
    }
}
