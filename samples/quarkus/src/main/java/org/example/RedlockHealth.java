package org.example;

import dev.redlock.Redlock;
import jakarta.inject.Singleton;
import org.eclipse.microprofile.health.HealthCheck;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.Readiness;

@Readiness
@Singleton
class RedlockHealth implements HealthCheck {
    private final Redlock redlock;

    RedlockHealth(Redlock redlock) {
        this.redlock = redlock;
    }

    @Override
    public HealthCheckResponse call() {
        return HealthCheckResponse.named("redlock").status(redlock.isQuorumAvailable()).build();
    }
}
