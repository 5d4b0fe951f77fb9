package org.example;

import dev.redlock.Redlock;
import io.micronaut.core.async.publisher.Publishers;
import io.micronaut.health.HealthStatus;
import io.micronaut.management.health.indicator.HealthIndicator;
import io.micronaut.management.health.indicator.HealthResult;
import jakarta.inject.Singleton;
import org.reactivestreams.Publisher;

@Singleton
class RedlockHealth implements HealthIndicator {
    private final Redlock redlock;

    RedlockHealth(Redlock redlock) {
        this.redlock = redlock;
    }

    @Override
    public Publisher<HealthResult> getResult() {
        HealthStatus status = redlock.isQuorumAvailable() ? HealthStatus.UP : HealthStatus.DOWN;
        return Publishers.just(HealthResult.builder("redlock", status).build());
    }
}
