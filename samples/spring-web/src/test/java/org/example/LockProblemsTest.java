package org.example;

import static org.assertj.core.api.Assertions.assertThat;

import dev.redlock.Redlock;
import dev.redlock.api.Lease;
import dev.redlock.api.LockNotAcquiredException;
import dev.redlock.spring.Locked;
import dev.redlock.test.RedlockNodes;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.context.annotation.ImportCandidates;
import org.springframework.boot.test.context.runner.ReactiveWebApplicationContextRunner;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.http.ResponseEntity;
import org.springframework.mock.web.MockHttpServletResponse;
import org.springframework.test.web.reactive.server.WebTestClient;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.test.web.servlet.request.MockMvcRequestBuilders;
import org.springframework.test.web.servlet.setup.MockMvcBuilders;
import org.springframework.util.ClassUtils;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.context.WebApplicationContext;
import org.springframework.web.reactive.config.EnableWebFlux;
import org.springframework.web.servlet.config.annotation.EnableWebMvc;
import reactor.core.publisher.Mono;

/** Requests of Spring MVC and of WebFlux for an order that another client has locked. */
@Timeout(60)
class LockProblemsTest {

    private static RedlockNodes nodes;
    private static Redlock other;

    @BeforeAll
    static void start() {
        nodes = RedlockNodes.start(3);
        other = nodes.connect();
    }

    @AfterAll
    static void end() {
        other.close();
        nodes.close();
    }

    /** The answers of an application: the status and the body. */
    private record Answer(int status, String body) {
    }

    private interface Client {
        Answer get(String path) throws Exception;
    }

    private interface Requests {
        void send(Client client) throws Exception;
    }

    @RestController
    static class Orders {
        @GetMapping("/orders/{id}")
        @Locked(name = "orders", key = "#p0", waitUpTo = "0")
        public String ship(@PathVariable("id") String id) {
            return "shipped " + id;
        }

        @GetMapping("/later/{id}")
        @Locked(name = "orders", key = "#p0", waitUpTo = "0")
        public Mono<String> later(@PathVariable("id") String id) {
            return Mono.just("shipped " + id);
        }
    }

    @ControllerAdvice
    static class OwnAnswers {
        @ExceptionHandler
        ResponseEntity<String> onNotAcquired(LockNotAcquiredException e) {
            return ResponseEntity.status(423).body("own: " + e.kind());
        }
    }

    /** For all failures, as many applications have one. */
    @ControllerAdvice
    static class AnswersToAll {
        @ExceptionHandler
        ResponseEntity<String> onFailure(Exception e) {
            return ResponseEntity.status(500).body("all: " + e.getClass().getSimpleName());
        }
    }

    @EnableWebMvc
    static class Mvc {
    }

    @EnableWebFlux
    static class Flux {
    }

    private static AutoConfigurations starter() {
        List<String> names = ImportCandidates.load(AutoConfiguration.class, null).getCandidates();
        return AutoConfigurations.of(names.stream()
                .filter(name -> name.startsWith("dev.redlock.") && !name.contains("Actuator"))
                .map(name -> ClassUtils.resolveClassName(name, null))
                .toArray(Class<?>[]::new));
    }

    private static String[] properties(String... more) {
        String[] all = Arrays.copyOf(more, more.length + 1);
        all[more.length] = "redlock.nodes=" + String.join(",", nodes.addresses());
        return all;
    }

    private static void onMvc(Class<?> advice, Requests requests, String... properties) {
        new WebApplicationContextRunner().withConfiguration(starter())
                .withUserConfiguration(Mvc.class, Orders.class, advice)
                .withPropertyValues(properties(properties))
                .run(context -> {
                    MockMvc mvc = MockMvcBuilders
                            .webAppContextSetup((WebApplicationContext) context.getSourceApplicationContext())
                            .build();
                    requests.send(path -> {
                        MockHttpServletResponse response = mvc.perform(MockMvcRequestBuilders.get(path))
                                .andReturn()
                                .getResponse();
                        return new Answer(response.getStatus(), response.getContentAsString());
                    });
                });
    }

    private static void onFlux(Class<?> advice, Requests requests, String... properties) {
        new ReactiveWebApplicationContextRunner().withConfiguration(starter())
                .withUserConfiguration(Flux.class, Orders.class, advice)
                .withPropertyValues(properties(properties))
                .run(context -> {
                    WebTestClient web = WebTestClient.bindToApplicationContext(context.getSourceApplicationContext())
                            .configureClient()
                            .responseTimeout(Duration.ofSeconds(30))
                            .build();
                    requests.send(path -> {
                        var result = web.get().uri(path).exchange().expectBody().returnResult();
                        byte[] body = result.getResponseBodyContent();
                        return new Answer(result.getStatus().value(),
                                body == null ? "" : new String(body, StandardCharsets.UTF_8));
                    });
                });
    }

    private static Requests heldOrder(String path, int status, String text) {
        return client -> {
            try (Lease lease = other.acquire("orders/42", Duration.ofSeconds(20)).lease()) {
                Answer answer = client.get(path);
                assertThat(answer.status()).as(answer.body()).isEqualTo(status);
                assertThat(answer.body()).contains(text).doesNotContain("orders/42 ", nodes.addresses()[0]);
                lease.release();
            }
            assertThat(client.get(path)).isEqualTo(new Answer(200, "shipped 42"));
        };
    }

    @Test
    void aHeldLockIsAConflict() {
        onMvc(Orders.class, heldOrder("/orders/42", 409, "\"reason\":\"CONTENDED\""));
        onFlux(Orders.class, heldOrder("/later/42", 409, "\"reason\":\"CONTENDED\""));
    }

    @Test
    void aHandlerOfTheApplicationPrecedes() {
        onMvc(OwnAnswers.class, heldOrder("/orders/42", 423, "own: CONTENDED"));
        onFlux(OwnAnswers.class, heldOrder("/later/42", 423, "own: CONTENDED"));
        onMvc(AnswersToAll.class, heldOrder("/orders/42", 500, "all: LockNotAcquiredException"));
        onFlux(AnswersToAll.class, heldOrder("/later/42", 500, "all: LockNotAcquiredException"));
    }

    @Test
    void theAnswersCanBeSwitchedOff() {
        Requests failing = client -> {
            try (Lease lease = other.acquire("orders/43", Duration.ofSeconds(20)).lease()) {
                assertThat(lease.isHeld()).isTrue();
                assertThat(client.get("/later/43").status()).isEqualTo(500);
            }
        };
        onFlux(Orders.class, failing, "redlock.problemdetails.enabled=false");
    }
}
