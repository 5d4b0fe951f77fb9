package org.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.SocketNodes;
import java.io.File;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.spi.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An application of Spring Boot 3 takes a lock with the bean of docs/start/spring-boot.md, and Spring closes it. */
class SpringBootTest {

    private static final String APPLICATION = """
            import dev.redlock.*;
            import java.time.Duration;
            import org.springframework.boot.SpringApplication;
            public final class Application {
                public static void main(String[] args) throws Exception {
                    Redlock redlock;
                    try (var context = SpringApplication.run(Locks.class, args)) {
                        redlock = context.getBean(Redlock.class);
                        AcquireOutcome outcome = redlock.acquire("orders/42", Duration.ofSeconds(10));
                        System.out.println("before the end: " + outcome.kind());
                    }
                    AcquireOutcome outcome = redlock.acquire("orders/42", Duration.ofSeconds(10));
                    System.out.println("after the end: " + outcome.kind());
                }
            }
            """;

    @TempDir
    private static Path folder;

    @Test
    void theBeanTakesALockAndIsClosedAndLogs() throws Exception {
        Files.writeString(folder.resolve("Locks.java"),
                Page.of("docs/start/spring-boot.md").block("java", "class Locks"));
        Files.writeString(folder.resolve("Application.java"), APPLICATION);
        String libraries = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        PrintWriter err = new PrintWriter(System.err, true);
        assertEquals(0, ToolProvider.findFirst("javac").orElseThrow().run(err, err, "-d", folder.toString(), "-cp",
                libraries, folder.resolve("Locks.java").toString(), folder.resolve("Application.java").toString()));
        try (SocketNodes nodes = new SocketNodes(3)) {
            String addresses = String.join(",", nodes.addresses()) + ",no-such-host.invalid:1";
            Program program = Program.run(folder, List.of("java", "-cp", folder + File.pathSeparator + libraries,
                    "Application", "--redlock.nodes=" + addresses));
            assertTrue(program.out().contains("before the end: ACQUIRED"), program::out);
            assertTrue(program.out().contains("after the end: CLOSED"), program::out);
            String line = program.out().lines().filter(text -> text.contains("no-such-host")).findFirst().orElse("");
            assertTrue(line.contains("INFO") && line.contains("dev.redlock"), program::out);
        }
    }
}
