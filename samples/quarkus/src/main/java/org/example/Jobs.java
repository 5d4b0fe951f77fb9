package org.example;

import io.quarkus.scheduler.Scheduled;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.time.Instant;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;
import org.eclipse.microprofile.config.inject.ConfigProperty;

@Singleton
class Jobs {
    private final LockingTaskExecutor shedLock;
    private final Runnable report; // your job, a bean
    private final Duration holdAtLeast;

    Jobs(LockingTaskExecutor shedLock, Runnable report,
            @ConfigProperty(name = "jobs.report.hold-at-least") Duration holdAtLeast) {
        this.shedLock = shedLock;
        this.report = report;
        this.holdAtLeast = holdAtLeast;
    }

    @Scheduled(every = "${jobs.report.every}")
    void report() {
        shedLock.executeWithLock(report,
                new LockConfiguration(Instant.now(), "jobs/report", Duration.ofMinutes(10), holdAtLeast));
    }
}
