package org.example;

import io.micronaut.context.annotation.Value;
import io.micronaut.scheduling.annotation.Scheduled;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.time.Instant;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;

@Singleton
class Jobs {
    private final LockingTaskExecutor shedLock;
    private final Runnable report; // your job, a bean
    private final Duration holdAtLeast;

    Jobs(LockingTaskExecutor shedLock, Runnable report, @Value("${jobs.report.hold-at-least}") Duration holdAtLeast) {
        this.shedLock = shedLock;
        this.report = report;
        this.holdAtLeast = holdAtLeast;
    }

    @Scheduled(fixedRate = "${jobs.report.every}")
    void report() {
        shedLock.executeWithLock(report,
                new LockConfiguration(Instant.now(), "jobs/report", Duration.ofMinutes(10), holdAtLeast));
    }
}
