package dev.redlock.node.send;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.cli.AdminClient;
import dev.redlock.resp.RespValue;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What scripts do on a server that cannot be seen through the client: their names, and where counters end. */
class LockScriptsOnNodesTest {

    /** The largest of Lua's integers of which both neighbours are exact: 2^53 - 1. */
    private static final long FENCE_MAX = (1L << 53) - 1;
    private static final String DAY_MS = "86400000";

    /** A server names each script as this client does, so that EVALSHA finds what SCRIPT LOAD has left there. */
    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void serverComputesTheSameScriptNames(Source source) throws IOException {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().source(source).count(1));
                AdminClient redis = nodes.node(0).connect()) {
            for (CommandKind verb : ScriptSources.SCRIPTED) {
                String script = new String(ScriptSources.source(verb), StandardCharsets.UTF_8);
                assertEquals(ScriptSources.sha1Hex(ScriptSources.source(verb)), redis.call("SCRIPT", "LOAD", script),
                        verb::name);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void anExtensionNeverSetsAnEarlierExpiry(Source source) throws IOException {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().source(source).count(1));
                AdminClient redis = nodes.node(0).connect()) {
            redis.call("SET", "r", "token", "PX", "600000");
            assertEquals(1L, extend(redis, "60000"), "ours");
            assertExpiry(redis, 600_000);
            assertEquals(1L, extend(redis, "900000"), "ours");
            assertExpiry(redis, 900_000);
            redis.call("PERSIST", "r");
            assertEquals(1L, extend(redis, "60000"), "ours, and it would never have expired");
            assertExpiry(redis, 60_000);
            redis.call("DEL", "r");
            assertEquals(2L, extend(redis, "300000"), "missing");
            assertExpiry(redis, 300_000);
            assertEquals("token", redis.call("GET", "r"), "put back");
            redis.call("SET", "r", "somebody else's", "PX", "60000");
            assertEquals(0L, extend(redis, "300000"), "not ours");
            assertExpiry(redis, 60_000);
        }
    }

    /** One key that fails, and one of somebody else, do not keep the others from being renewed. */
    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void manyExtensionsInOneCallEachRenewTheirOwn(Source source) throws IOException {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().source(source).count(1));
                AdminClient redis = nodes.node(0).connect()) {
            redis.call("SET", "r", "token-1", "PX", "60000");
            redis.call("SET", "theirs", "somebody else's", "PX", "60000");
            redis.call("HSET", "a hash", "token-3", "token-3");
            redis.call("SET", "later", "token-5", "PX", "900000");
            redis.call("SET", "for ever", "token-6");
            redis.call("SET", "last", "token-7", "PX", "60000");
            List<RespValue> replies = redis.send("EVAL", script(CommandKind.EXTEND_MANY), "7", "r", "theirs", "a hash",
                    "missing", "later", "for ever", "last", "token-1", "token-2", "token-3", "token-4", "token-5",
                    "token-6", "token-7", "300000", "300000", "300000", "300000", "300000", "300000", "600000")
                    .elements();
            assertEquals("[1, 0, WRONGTYPE, 2, 1, 1, 1]", replies.stream()
                    .map(LockScriptsOnNodesTest::shortText)
                    .toList()
                    .toString());
            assertExpiry(redis, 300_000);
            assertExpiry(redis, "theirs", 60_000);
            assertExpiry(redis, "missing", 300_000);
            assertExpiry(redis, "later", 900_000);
            assertExpiry(redis, "for ever", 300_000);
            assertExpiry(redis, "last", 600_000);
            assertEquals("token-4", redis.call("GET", "missing"), "put back");
            assertEquals(1L, redis.call("HLEN", "a hash"), "somebody's");
        }
    }

    /** A missing key needs memory, a renewed one does not. After a write, a server lets a script use more memory. */
    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void anExtensionWithoutMemoryFailsAlone(Source source) throws IOException {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().source(source).count(1));
                AdminClient redis = nodes.node(0).connect()) {
            redis.call("SET", "r", "token-1", "PX", "60000");
            redis.call("SET", "last", "token-3", "PX", "60000");
            redis.call("CONFIG", "SET", "maxmemory", "1");
            List<RespValue> replies = redis.send("EVAL", script(CommandKind.EXTEND_MANY), "3", "missing", "r", "last",
                    "token-2", "token-1", "token-3", "300000", "300000", "300000").elements();
            assertEquals("[OOM, 1, 1]", replies.stream()
                    .map(LockScriptsOnNodesTest::shortText)
                    .toList()
                    .toString());
            assertExpiry(redis, 300_000);
            assertExpiry(redis, "last", 300_000);
        }
    }

    /** An integer, or the kind of an error as the client reads it. */
    private static String shortText(RespValue value) {
        if (!value.isError()) {
            return Long.toString(value.asLong());
        }
        byte[] text = value.asText().getBytes(StandardCharsets.UTF_8);
        return VoteFailure.ofErrorReply(Unpooled.wrappedBuffer(text), 0, text.length).text();
    }

    private static Object extend(AdminClient redis, String ttlMs) throws IOException {
        return redis.call("EVAL", script(CommandKind.EXTEND), "1", "r", "token", ttlMs);
    }

    private static void assertExpiry(AdminClient redis, long ttlMs) throws IOException {
        assertExpiry(redis, "r", ttlMs);
    }

    private static void assertExpiry(AdminClient redis, String key, long ttlMs) throws IOException {
        long leftMs = (long) redis.call("PTTL", key);
        assertTrue(leftMs <= ttlMs && leftMs > ttlMs - 50_000, "about " + ttlMs + " ms: " + leftMs);
    }

    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void manyReleasesInOneCallEachDeleteTheirOwn(Source source) throws IOException {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().source(source).count(1));
                AdminClient redis = nodes.node(0).connect()) {
            redis.call("SET", "ours", "token-1");
            redis.call("SET", "theirs", "somebody else's");
            redis.call("HSET", "a hash", "token-3", "token-3");
            redis.call("SET", "ours too", "token-5");
            assertEquals(List.of(1L, 0L, 0L, 0L, 1L),
                    redis.call("EVAL", script(CommandKind.RELEASE_MANY), "5", "ours", "theirs", "a hash", "missing",
                            "ours too",
                            "token-1", "token-2", "token-3", "token-4", "token-5"));
            assertEquals(2L, redis.call("EXISTS", "ours", "theirs", "a hash", "ours too"), "the foreign ones stand");
            redis.call("MSET", "a", "token-a", "b", "token-b");
            assertEquals(3L,
                    redis.call("EVAL", script(CommandKind.RELEASE_MANY), "3", "a", "b", "a", "token-a", "token-b",
                            "token-a"),
                    "all, one of them twice: their number");
            assertEquals(0L, redis.call("EXISTS", "a", "b"));
        }
    }

    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void manyFencedReleasesInOneCallEachDeleteTheirOwnAndRaiseTheirCounter(Source source) throws IOException {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().source(source).count(1));
                AdminClient redis = nodes.node(0).connect()) {
            redis.call("MSET", "a", "token-a", "b", "somebody else's", "d", "token-d", "e", "token-e", "f", "token-f",
                    "ca", "5", "cb", "6", "cd", "7", "cf", "no number");
            redis.call("HSET", "ce", "field", "a counter of another type");
            assertEquals(List.of(1L, 0L, 0L, 1L, 1L, 1L),
                    redis.call("EVAL", script(CommandKind.RELEASE_MANY_FENCED), "12", "a", "b", "c", "d", "e", "f",
                            "ca", "cb", "cc", "cd", "ce", "cf",
                            "token-a", "token-b", "token-c", "token-d", "token-e", "token-f",
                            "5", "9", "3", "6", "8", "8", DAY_MS));
            assertEquals(1L, redis.call("EXISTS", "a", "b", "c", "d", "e", "f"), "the foreign one stands");
            assertEquals("[5, 9, null, 7, null, no number]",
                    redis.call("MGET", "ca", "cb", "cc", "cd", "ce", "cf").toString(),
                    "counters only go up, and are not created");
            assertEquals(-1L, redis.call("PTTL", "ca"), "one that stands right is not touched");
            assertTrue((long) redis.call("PTTL", "cb") > 0, "a raised one expires");
            // The same counter twice, as two attempts of one resource in one turn may have it.
            redis.call("SET", "cx", "10");
            assertEquals(List.of(0L, 0L),
                    redis.call("EVAL", script(CommandKind.RELEASE_MANY_FENCED), "4", "x", "x", "cx",
                            "cx", "token-1", "token-2", "12", "11", DAY_MS));
            assertEquals("12", redis.call("GET", "cx"));
            // Beyond what Lua counts exactly nothing is written.
            assertEquals(List.of(0L),
                    redis.call("EVAL", script(CommandKind.RELEASE_MANY_FENCED), "2", "x", "cx", "token-1",
                            "9007199254740993", DAY_MS));
            assertEquals("12", redis.call("GET", "cx"));
        }
    }

    /** What a server answers to the probes of the handshake is what it does then, on each server. */
    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void probeChangesNothingAndReportsCapabilities(Source source) throws IOException {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().source(source).count(1));
                AdminClient redis = nodes.node(0).connect()) {
            redis.call("SET", "probe", "a token of 20 bytes.");
            for (String key : List.of("probe", "missing")) {
                probed(redis, key);
            }
            assertEquals("a token of 20 bytes.", redis.call("GET", "probe"), "somebody's key");
            assertEquals(1L, redis.call("DBSIZE"), "nothing is set");
            ServerCapabilities dialect = probed(redis, "missing");
            List<?> known = (List<?>) redis.call("COMMAND", "INFO", "delex", "delifeq", "msetex");
            assertEquals(known.get(2) != null, dialect.setEncoding() == CommandEncoding.MSETEX, dialect::toString);
            assertEquals(known.get(0) != null, dialect.releaseEncoding() == CommandEncoding.DELEX, dialect::toString);
            assertEquals(known.get(1) != null, dialect.releaseEncoding() == CommandEncoding.DELIFEQ, dialect::toString);
            assertTrue(
                    dialect.releaseEncoding() == CommandEncoding.SCRIPT
                            || dialect.extendEncoding() == CommandEncoding.SET_IFEQ,
                    "each server with a conditional delete has the conditional set: " + dialect);
            assertDoesWhatItTells(redis, dialect);
        }
    }

    private static ServerCapabilities probed(AdminClient redis, String key) throws IOException {
        String value = "redlock:probe";
        return ServerCapabilities.of(redis.send("DELEX", key, "IFEQ", value), redis.send("DELIFEQ", key, value),
                redis.send("SET", key, value, "IFEQ", value, "PX", "1"),
                redis.send("MSETEX", "1", key + ":redlock:permit", value, "XX", "PX", "1"));
    }

    private static void assertDoesWhatItTells(AdminClient redis, ServerCapabilities dialect)
            throws IOException {
        if (dialect.setEncoding() == CommandEncoding.MSETEX) {
            assertEquals(1L, redis.call("MSETEX", "2", "ours", "token", "second", "token", "NX", "PX", "90000"));
            assertTrue((long) redis.call("PTTL", "second") > 60_000, "its ttl");
            assertEquals(0L, redis.call("MSETEX", "2", "third", "other", "ours", "other", "NX", "PX", "90000"));
            assertEquals("token", redis.call("GET", "ours"), "somebody else's");
            assertEquals(2L, redis.call("EXISTS", "ours", "second", "third"), "all or none");
        }
        redis.call("SET", "ours", "token", "PX", "60000");
        if (dialect.extendEncoding() == CommandEncoding.SET_IFEQ) {
            assertNull(redis.call("SET", "ours", "other", "IFEQ", "other", "PX", "90000"), "somebody else's");
            assertEquals("OK", redis.call("SET", "ours", "token", "IFEQ", "token", "PX", "90000"));
            assertTrue((long) redis.call("PTTL", "ours") > 60_000, "extended");
            assertEquals("OK", redis.call("SET", "ours", "token", "IFEQ", "token", "PX", "30000"));
            assertTrue((long) redis.call("PTTL", "ours") <= 30_000, "unlike a script, it replaces a longer expiry");
        }
        if (dialect.releaseEncoding() != CommandEncoding.SCRIPT) {
            assertEquals(0L, release(redis, dialect, "other"), "somebody else's");
            assertEquals(1L, release(redis, dialect, "token"));
            assertEquals(0L, redis.call("EXISTS", "ours"));
        }
    }

    private static Object release(AdminClient redis, ServerCapabilities dialect, String token)
            throws IOException {
        return dialect.releaseEncoding() == CommandEncoding.DELEX
                ? redis.call("DELEX", "ours", "IFEQ", token)
                : redis.call("DELIFEQ", "ours", token);
    }

    /** The server's clock is at a second that the test chooses; everything else is the script's own. */
    private static Object acquireFencedAt(AdminClient redis, long second, String resource)
            throws IOException {
        String script = script(CommandKind.ACQUIRE_FENCED);
        String clock = "redis.call('TIME')[1]";
        assertEquals(1, script.split(Pattern.quote(clock), -1).length - 1, "the only read of the clock");
        return redis.call("EVAL", script.replace(clock, "'" + second + "'"), "2", resource, counter(resource), "token",
                "60000", DAY_MS, "0");
    }

    private static Object acquireFenced(AdminClient redis, String resource) throws IOException {
        return redis.call("EVAL", script(CommandKind.ACQUIRE_FENCED), "2", resource, counter(resource), "token",
                "60000", DAY_MS, "0");
    }

    private static Object valued(AdminClient redis, CommandKind verb, String resource,
            String value)
            throws IOException {
        return redis.call("EVAL", script(verb), "2", resource, counter(resource), "token", value, DAY_MS);
    }

    private static String script(CommandKind verb) {
        return new String(ScriptSources.source(verb), StandardCharsets.UTF_8);
    }

    private static String counter(String resource) {
        return resource + ":redlock:fence:{" + resource + "}";
    }

    private static void assertRefused(AdminClient redis, String resource, String reason,
            Object counterBefore, Object reply) throws IOException {
        assertTrue(reply instanceof RespValue error && error.asText().contains(reason),
                () -> reason + " was expected: " + reply);
        assertNull(redis.call("GET", resource), "no lock is left behind");
        assertEquals(counterBefore, redis.call("GET", counter(resource)), "the counter is as it was");
    }

    /**
     * A counter that is lost starts at seconds * 2^20, so it reaches 2^53 in second 2^33, in March 2242. Until then
     * there is room: one that was seeded in 2026 and is counted up a million times a second, day and night, moves no
     * faster than the seed does.
     */
    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void fencingTokensEndInTheYear2242AndNotBefore(Source source) throws IOException {
        assertEquals(1L << 33, (FENCE_MAX + 1) >> 20, "the second");
        assertEquals(2242, Instant.ofEpochSecond(1L << 33).atZone(ZoneOffset.UTC).getYear());
        assertEquals(1_048_576, 1L << 20, "counts a second that the seed outruns");
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().source(source).count(1));
                AdminClient redis = nodes.node(0).connect()) {
            long lastSecond = (1L << 33) - 1;
            assertEquals(lastSecond << 20, acquireFencedAt(redis, lastSecond, "last"));
            assertEquals(Long.toString(lastSecond << 20), redis.call("GET", counter("last")));
            assertRefused(redis, "late", "FENCE", null, acquireFencedAt(redis, lastSecond + 1, "late"));
            long now = (Long) acquireFenced(redis, "now");
            assertTrue(Math.abs((now >> 20) - Instant.now().getEpochSecond()) < 60, "seeded by the clock: " + now);
        }
    }

    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void inexactCounterIsNeverReturned(Source source) throws IOException {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().source(source).count(1));
                AdminClient redis = nodes.node(0).connect()) {
            redis.call("SET", counter("r"), Long.toString(FENCE_MAX - 1));
            assertEquals(FENCE_MAX, acquireFenced(redis, "r"), "the last one");
            redis.call("DEL", "r");
            for (String beyond : List.of(Long.toString(FENCE_MAX), Long.toString(FENCE_MAX + 1),
                    Long.toString(FENCE_MAX + 2), Long.toString(Long.MAX_VALUE), "-1", "1e3", "0x10", "many")) {
                redis.call("SET", counter("r"), beyond);
                boolean isCount = beyond.matches("-?[0-9]+");
                boolean isLast = beyond.equals(Long.toString(Long.MAX_VALUE));
                assertRefused(redis, "r", isLast ? "overflow" : isCount ? "FENCE" : "not an integer", beyond,
                        acquireFenced(redis, "r"));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void countersAreRaisedExactlyAndNotBeyondTheEnd(Source source) throws IOException {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().source(source).count(1));
                AdminClient redis = nodes.node(0).connect()) {
            for (CommandKind verb : new CommandKind[]{CommandKind.RAISE, CommandKind.RELEASE_FENCED}) {
                for (long value : new long[]{1, 999_999_999_999_999L, FENCE_MAX - 1, FENCE_MAX}) {
                    redis.call("SET", "r", "token");
                    redis.call("SET", counter("r"), "0");
                    assertEquals(1L, valued(redis, verb, "r", Long.toString(value)), verb + " to " + value);
                    assertEquals(Long.toString(value), redis.call("GET", counter("r")), "to the last digit");
                }
                for (String value : List.of("9007199254740992", "9007199254740993", "9223372036854775807")) {
                    redis.call("SET", "r", "token");
                    redis.call("SET", counter("r"), "5");
                    assertEquals(verb == CommandKind.RAISE ? 0L : 1L, valued(redis, verb, "r", value),
                            verb + " to " + value);
                    assertEquals("5", redis.call("GET", counter("r")), "left alone");
                }
                redis.call("SET", "r", "token");
                redis.call("DEL", counter("r"));
                redis.call("HSET", counter("r"), "not", "a string");
                assertTrue(valued(redis, verb, "r", "7") instanceof RespValue, "no string");
                assertEquals(verb == CommandKind.RAISE ? 1L : 0L, redis.call("EXISTS", "r"),
                        "the lock is released first");
                redis.call("SET", "r", "token");
                redis.call("SET", counter("r"), "many");
                assertEquals(verb == CommandKind.RAISE ? 0L : 1L, valued(redis, verb, "r", "7"),
                        verb + " of no number");
                assertEquals("many", redis.call("GET", counter("r")), "left alone");
            }
        }
    }
}
