package org.example;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.shedlock.RedlockLockProvider;
import io.micronaut.context.annotation.Bean;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Property;
import io.micronaut.context.annotation.Prototype;
import jakarta.inject.Singleton;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;

@Factory
class Locks {
    @Prototype
    RedlockContext options(@Property(name = "redlock.nodes") String[] nodes) {
        return new RedlockContext().nodes(nodes);
    }

    @Context // connects at the start of the application
    @Bean(preDestroy = "close")
    Redlock redlock(RedlockContext options) {
        return Redlock.connect(options);
    }

    @Singleton
    LockingTaskExecutor shedLock(Redlock redlock) {
        return new DefaultLockingTaskExecutor(new RedlockLockProvider(redlock));
    }
}
