package org.example;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.QuarkusTestProfile;
import io.quarkus.test.junit.TestProfile;
import java.util.Map;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** Runs after {@link ApplicationTest}: its profile makes Quarkus end that application and start one without nodes. */
@QuarkusTest
@TestProfile(ShutdownTest.Restarted.class)
class ShutdownTest {

    public static final class Restarted implements QuarkusTestProfile {
        @Override
        public Map<String, String> getConfigOverrides() {
            return Map.of("redlock.nodes", "127.0.0.1:1,127.0.0.1:2", "quarkus.http.test-port", "0",
                    "jobs.report.every", "off");
        }
    }

    @Test
    void theApplicationThatHasEndedLeftNothingOnTheNodes() {
        String left = System.getProperty(RealNodes.LEFT);
        Assumptions.assumeTrue(left != null || Boolean.getBoolean("tests.requireServers"), "no Redis server");
        assertEquals("", left);
    }
}
