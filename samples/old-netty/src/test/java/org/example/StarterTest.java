package org.example;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;

/** An application of Spring Boot 3 with the starter and without the step for Netty does not start, and reads why. */
class StarterTest {

    @EnableAutoConfiguration
    static class Application {
    }

    @Test
    void theReportNamesTheProperty() {
        PrintStream before = System.out;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        boolean isStarted = true;
        try {
            SpringApplication.run(Application.class, "--redlock.nodes=127.0.0.1:1").close();
        } catch (RuntimeException e) {
            isStarted = false;
        } finally {
            System.setOut(before);
        }
        assertFalse(isStarted);
        String text = out.toString(StandardCharsets.UTF_8);
        assertTrue(text.contains("APPLICATION FAILED TO START"), text);
        assertTrue(text.contains("found 4.1.121.Final"), text);
        assertTrue(text.contains("Set the property netty.version to 4.2.18.Final"), text);
    }
}
