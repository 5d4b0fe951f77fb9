package org.example;

import dev.redlock.RedlockContext;
import dev.redlock.api.RestartGuardMode;
import jakarta.annotation.Priority;
import jakarta.enterprise.inject.Alternative;
import jakarta.enterprise.inject.Produces;
import java.time.Duration;
import java.util.List;
import org.eclipse.microprofile.config.inject.ConfigProperty;

/** A busy machine delays answers, and the nodes have just started. */
class PatientLocks {
    @Produces
    @Alternative
    @Priority(1)
    RedlockContext options(@ConfigProperty(name = "redlock.nodes") List<String> nodes) {
        return new Locks().options(nodes)
                .restartGuard(RestartGuardMode.OFF)
                .connectTimeout(Duration.ofSeconds(20))
                .nodeTimeout(Duration.ofSeconds(5));
    }
}
