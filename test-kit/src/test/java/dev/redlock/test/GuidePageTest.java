package dev.redlock.test;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the page of this module shows and says. */
@Timeout(60)
class GuidePageTest {

    private static final Duration TTL = Duration.ofSeconds(30);

    /** The code blocks of a page. */
    private record Page(String text) {

        static Page of(String name) throws IOException {
            return new Page(Files.readString(Path.of("..").resolve(name)));
        }

        String block(String language, String part) {
            for (String block : text.split("```" + language + "\n")) {
                if (block.contains(part)) {
                    return block.substring(0, block.indexOf("```"));
                }
            }
            throw new AssertionError("no block in " + language + " contains " + part);
        }
    }

    /** So it compiles, and its tests pass. */
    @Test
    void theClassOfThePageIsATestOfThisModule() throws IOException {
        String shown = Page.of("test-kit/README.md").block("java", "class OrdersTest");
        String tested = Files.readString(Path.of("src/test/java/org/example/OrdersTest.java"));
        assertTrue(tested.endsWith(shown), shown);
    }

    /** Those of Spring Boot 4.0 and 4.1 run it. */
    @Test
    void theSpringTestOfThePageIsATestOfTheSample() throws IOException {
        String shown = Page.of("test-kit/README.md").block("java", "class ShippingTest");
        String tested = Files
                .readString(Path.of("../samples/spring-boot/src/test/java/org/example/ShippingTest.java"));
        assertTrue(tested.endsWith(shown), shown);
    }

    @Test
    void aSingleFreshServerVotesWithoutTheGuardOnly() throws Exception {
        String shown = Page.of("test-kit/README.md").block("java", "RestartGuardMode.OFF");
        assertTrue(shown.contains(".nodes(\"localhost:6379\").restartGuard(RestartGuardMode.OFF)"), shown);
        try (RedisNodes nodes = RequiredNodes.start(Source.PATH, 1);
                Redlock guarded = Redlock.connect(nodes.addresses());
                Redlock redlock = Redlock.connect(
                        new RedlockContext().nodes(nodes.addresses()).restartGuard(RestartGuardMode.OFF))) {
            assertTrue(redlock.tryAcquire("orders", TTL, TTL).isAcquired());
            AcquireOutcome outcome = guarded.tryAcquire("others", TTL);
            assertTrue(outcome.kind() == AcquireOutcome.Kind.NO_QUORUM, outcome::toString);
            assertTrue(outcome.toString().contains("in quarantine"), outcome::toString);
        }
        try (RedisNodes nodes = RequiredNodes.start(Source.PATH, 3);
                Redlock redlock = Redlock.connect(
                        nodes.addresses())) {
            assertTrue(redlock.tryAcquire("orders", TTL, TTL).isAcquired(), "three fresh servers");
        }
    }
}
