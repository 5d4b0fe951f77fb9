package org.example;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.TransportKind;
import dev.redlock.shedlock.RedlockLockProvider;
import io.quarkus.runtime.Startup;
import jakarta.enterprise.inject.Disposes;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;
import java.util.List;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;
import org.eclipse.microprofile.config.inject.ConfigProperty;

class Locks {
    @Produces
    RedlockContext options(@ConfigProperty(name = "redlock.nodes") List<String> nodes) {
        return new RedlockContext().nodes(nodes.toArray(String[]::new)).transport(TransportKind.NIO);
    }

    @Produces
    @Singleton
    @Startup // connects at the start of the application
    Redlock redlock(RedlockContext options) {
        return Redlock.connect(options);
    }

    void close(@Disposes Redlock redlock) {
        redlock.close();
    }

    @Produces
    @Singleton
    LockingTaskExecutor shedLock(Redlock redlock) {
        return new DefaultLockingTaskExecutor(new RedlockLockProvider(redlock));
    }
}
