package org.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.SocketNodes;
import java.io.File;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.spi.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * An application of Spring Boot 3 with the starter, from the blocks of docs/start/spring-boot.md and of the page of the
 * starter.
 */
class SpringBootTest {

    private static final String APPLICATION = """
            import dev.redlock.*;
            import dev.redlock.api.*;
            import java.time.Duration;
            import java.util.List;
            import org.springframework.boot.SpringApplication;
            import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
            @EnableAutoConfiguration
            public class Application {
                public static void main(String[] args) throws Exception {
                    Class<?>[] parts = {Application.class, Orders.class, LockRetries.class, Invoices.class};
                    Redlock redlock;
                    try (var context = SpringApplication.run(parts, args)) {
                        redlock = context.getBean(Redlock.class);
                        context.getBean(Orders.class).ship("41");
                        Invoices invoices = context.getBean(Invoices.class);
                        System.out.println("invoice: " + invoices.send("7") + ", " + invoices.trySend("7"));
                        try (Lease lease = redlock.acquire("invoices/7", Duration.ofSeconds(10)).lease()) {
                            System.out.println("held: " + invoices.trySend("7"));
                        }
                        long token = invoices.sendAll(List.of("7", "8"), null);
                        System.out.println("token: " + (invoices.sendAll(List.of("8", "9"), null) > token));
                        AcquireOutcome outcome = redlock.acquire("orders/42", Duration.ofSeconds(10));
                        System.out.println("before the end: " + outcome.kind());
                    }
                    AcquireOutcome outcome = redlock.acquire("orders/42", Duration.ofSeconds(10));
                    System.out.println("after the end: " + outcome.kind());
                }
            }
            """;

    /**
     * Two instances whose job is due every two seconds and keeps its lock until shortly before, so that a late instance
     * finds it too. The second run is in progress when they are closed.
     */
    private static final String INSTANCES = """
            import dev.redlock.*;
            import dev.redlock.api.*;
            import io.micrometer.core.instrument.Gauge;
            import io.micrometer.core.instrument.binder.MeterBinder;
            import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
            import java.time.Instant;
            import java.util.concurrent.*;
            import org.springframework.boot.SpringApplication;
            import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
            import org.springframework.context.ConfigurableApplicationContext;
            import org.springframework.context.annotation.*;
            @EnableAutoConfiguration
            public class Instances {
                static final CountDownLatch SECOND_RUN = new CountDownLatch(2);
                @Bean
                public Runnable job() {
                    return () -> {
                        System.out.println("job starts in second " + Instant.now().getEpochSecond());
                        SECOND_RUN.countDown();
                        try {
                            new CountDownLatch(1).await(300, TimeUnit.MILLISECONDS);
                            System.out.println("job ends");
                        } catch (InterruptedException e) {
                            System.out.println("job interrupted");
                        }
                    };
                }
                @Bean
                public SimpleMeterRegistry meters() {
                    return new SimpleMeterRegistry();
                }
                static SimpleMeterRegistry metersOf(ConfigurableApplicationContext instance) {
                    SimpleMeterRegistry registry = instance.getBean(SimpleMeterRegistry.class);
                    instance.getBean(MeterBinder.class).bindTo(registry);
                    return registry;
                }
                static double contended(SimpleMeterRegistry registry) {
                    return registry.get("redlock.attempts.failed").tag("reason", "CONTENDED").functionCounter().count();
                }
                static double ready(SimpleMeterRegistry registry) {
                    return registry.get("redlock.node.ready").gauges().stream().mapToDouble(Gauge::value).sum();
                }
                static long kept(Redlock redlock) {
                    return redlock.counters().releaseCount(ReleaseOutcome.KEPT);
                }
                public static void main(String[] args) throws Exception {
                    Class<?>[] parts = {Jobs.class, Instances.class};
                    SimpleMeterRegistry first;
                    SimpleMeterRegistry second;
                    Redlock[] clients;
                    try (var one = SpringApplication.run(parts, args); var two = SpringApplication.run(parts, args)) {
                        first = metersOf(one);
                        second = metersOf(two);
                        clients = new Redlock[]{one.getBean(Redlock.class), two.getBean(Redlock.class)};
                        System.out.println("ready: " + ready(first));
                        SECOND_RUN.await();
                    }
                    System.out.println("closed, kept: " + (kept(clients[0]) + kept(clients[1])));
                    System.out.println("contended: " + (contended(first) + contended(second)));
                }
            }
            """;

    @TempDir
    private Path folder;

    /** Compiles an application with blocks of the page, and runs it on model nodes. */
    private Program run(String name, String source, List<String> blocks, String... options) throws Exception {
        List<String> arguments = new ArrayList<>();
        String libraries = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        arguments.addAll(List.of("-parameters", "-d", folder.toString(), "-cp", libraries));
        for (String block : blocks) {
            Path file = folder.resolve(block + ".java");
            String type = "class " + block + " ";
            Files.writeString(file, block.equals("Jobs")
                    ? Page.of("docs/start/spring-boot.md").block("java", type)
                    : Page.of("integrations/spring-boot-starter/README.md").block("java", type));
            arguments.add(file.toString());
        }
        arguments.add(Files.writeString(folder.resolve(name + ".java"), source).toString());
        PrintWriter err = new PrintWriter(System.err, true);
        assertEquals(0, ToolProvider.findFirst("javac").orElseThrow().run(err, err, arguments.toArray(String[]::new)));
        try (SocketNodes nodes = new SocketNodes(3)) {
            List<String> words = new ArrayList<>(
                    List.of("java", "-cp", folder + File.pathSeparator + libraries, name));
            for (String option : options) {
                words.add(option.replace("NODES", String.join(",", nodes.addresses())));
            }
            return Program.run(folder, words);
        }
    }

    @Test
    void aJobRunsOnOneOfTwoInstancesAndEndsBeforeTheyClose() throws Exception {
        Program program = run("Instances", INSTANCES, List.of("Jobs"),
                "--redlock.nodes=NODES", "--redlock.node-timeout=500ms", "--jobs.report.cron=*/2 * * * * *",
                "--jobs.report.hold-at-least=1800ms", "--spring.lifecycle.timeout-per-shutdown-phase=60s");
        List<String> lines = program.out().lines().filter(line -> line.startsWith("job ")).toList();
        List<String> starts = lines.stream().filter(line -> line.startsWith("job starts")).toList();
        assertTrue(starts.size() >= 2, program::out);
        assertEquals(starts.size(), Set.copyOf(starts).size(), () -> "one run in each second: " + program.out());
        assertEquals("job ends", lines.get(lines.size() - 1), program::out);
        assertEquals(2 * starts.size(), lines.size(), () -> "each run ends: " + program.out());
        int end = program.out().indexOf("closed, kept: " + starts.size() + "\n");
        assertTrue(end > program.out().lastIndexOf("job ends"), program::out);
        assertTrue(program.out().contains("ready: 3.0"), program::out);
        assertTrue(program.out().matches("(?s).*contended: [1-9].*"), program::out);
    }

    @Test
    void theClientTakesALockAndIsClosedAndLogs() throws Exception {
        Program program = run("Application", APPLICATION, List.of("Orders", "LockRetries", "Invoices"),
                "--redlock.nodes=NODES,no-such-host.invalid:1");
        assertTrue(program.out().contains("shipping under orders/41"), program::out);
        assertTrue(program.out().contains("invoice: sent 7, sent 7\nheld: 7 is CONTENDED\ntoken: true"), program::out);
        assertTrue(program.out().contains("before the end: ACQUIRED"), program::out);
        assertTrue(program.out().contains("after the end: CLOSED"), program::out);
        String line = program.out().lines().filter(text -> text.contains("no-such-host")).findFirst().orElse("");
        assertTrue(line.contains("INFO") && line.contains("dev.redlock"), program::out);
    }
}
