package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.loadtest.nodes.RawRedis;
import dev.redlock.loadtest.nodes.RedisNodes;
import dev.redlock.loadtest.nodes.RedisNodesContext;
import dev.redlock.loadtest.nodes.RequiredNodes;
import dev.redlock.loadtest.nodes.Source;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A server names each script as this client does, so that EVALSHA finds what SCRIPT LOAD has left there. */
class LockScriptsOnNodesTest {

    @ParameterizedTest
    @EnumSource(value = Source.class, names = {"PATH", "EMBEDDED"})
    void aServerNamesEachScriptAsWeDo(final Source source) throws IOException {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().source(source).count(1));
                RawRedis redis = nodes.node(0).connect()) {
            for (final Verb verb : Verb.values()) {
                final String script = new String(LockScripts.source(verb), StandardCharsets.UTF_8);
                assertEquals(LockScripts.sha1Hex(LockScripts.source(verb)), redis.call("SCRIPT", "LOAD", script),
                        verb::name);
            }
        }
    }
}
