package dev.redlock.test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import dev.redlock.spring.RedlockConnectionDetails;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** An application whose tests have a container, which gives the client its node unless the nodes are inside. */
@SpringBootTest(classes = SpringNodesBesideContainerTest.Application.class, properties = "redlock.password=hidden")
@AutoConfigureRedlockNodes
class SpringNodesBesideContainerTest {

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {
        @Bean
        RedlockConnectionDetails container() {
            return () -> List.of("127.0.0.1:1");
        }
    }

    @Test
    void theNodesInsidePrecede(@Autowired Redlock redlock, @Autowired RedlockNodes nodes) throws InterruptedException {
        assertEquals(List.of(nodes.addresses()), redlock.nodes().stream().map(node -> node.address()).toList());
        assertTrue(redlock.tryAcquire("orders", Duration.ofSeconds(30)).isAcquired());
    }
}
