package org.example;

import dev.redlock.RedlockContext;
import dev.redlock.api.RestartGuardMode;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import jakarta.inject.Singleton;
import java.time.Duration;

/** A busy machine delays answers, and the nodes have just started. */
@Singleton
class PatientOptions implements BeanCreatedEventListener<RedlockContext> {
    @Override
    public RedlockContext onCreated(BeanCreatedEvent<RedlockContext> event) {
        return event.getBean()
                .restartGuard(RestartGuardMode.OFF)
                .connectTimeout(Duration.ofSeconds(20))
                .nodeTimeout(Duration.ofSeconds(5));
    }
}
