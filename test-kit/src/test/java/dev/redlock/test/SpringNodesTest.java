package dev.redlock.test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import dev.redlock.api.Lease;
import dev.redlock.api.ReleaseOutcome;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;

/** An application of Spring Boot 3.5 that has nodes and a key prefix in its properties. */
@SpringBootTest(classes = SpringNodesTest.Application.class,
        properties = {"redlock.nodes[0]=redis-1.example.org:6379", "redlock.nodes[1]=redis-2.example.org:6379",
            "redlock.key-prefix=app:", "redlock.event-loops=2"})
@AutoConfigureRedlockNodes(count = 5)
class SpringNodesTest {

    private static final Duration TTL = Duration.ofSeconds(30);

    @Configuration
    @EnableAutoConfiguration
    static class Application {
    }

    @Autowired
    private Redlock redlock;
    @Autowired
    private RedlockNodes nodes;

    @Test
    void theClientHasTheNodesAndTheirClock() throws InterruptedException {
        assertEquals(5, redlock.nodes().stream().map(node -> node.address()).distinct().count());
        Lease lease = redlock.tryAcquire("orders", TTL).lease();
        nodes.advance(TTL);
        assertFalse(lease.isHeld());
        assertEquals(0, redlock.nodes().get(0).clockJumpCount());
        assertTrue(redlock.tryAcquire("orders", TTL).isAcquired());
        nodes.expire("orders");
    }

    @Nested
    class Inside {
        @Test
        void theAnnotationOfTheClassAroundCounts(@Autowired RedlockNodes same) {
            assertEquals(nodes, same);
        }
    }

    /** The client closes before its nodes, so they confirm its releases. */
    @Test
    void theNodesOutliveTheClient() throws InterruptedException {
        SpringApplication application = new SpringApplication(Application.class);
        application.addInitializers(context -> new SpringNodes(3).customizeContext(context, null));
        ConfigurableApplicationContext context = application.run();
        RedlockNodes own = context.getBean(RedlockNodes.class);
        Redlock client = context.getBean(Redlock.class);
        assertTrue(client.tryAcquire("orders", TTL).isAcquired());
        context.close();
        assertTrue(own.isClosed());
        assertEquals(1, client.counters().releaseCount(ReleaseOutcome.RELEASED));
    }

    /** Only the tests with the annotation get nodes. */
    @Test
    void theAnnotationIsNeeded() {
        assertNull(new SpringNodesFactory().createContextCustomizer(RedlockNodesTest.class, List.of()));
        assertEquals(new SpringNodes(5),
                new SpringNodesFactory().createContextCustomizer(SpringNodesTest.class, List.of()));
    }
}
