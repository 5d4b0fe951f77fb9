package dev.redlock.spring;

import dev.redlock.RedlockContext;
import org.springframework.core.env.Environment;
import org.springframework.core.task.SimpleAsyncTaskExecutor;

/**
 * The threads for functions of the application, if it asks Spring Boot for virtual ones. The event loops and the
 * client's own work stay on threads of the platform.
 *
 * @threading immutable
 */
final class VirtualThreads {

    static final String NAME = "redlock-callback-";
    private static final String PROPERTY = "spring.threads.virtual.enabled";
    private static final int JAVA_MIN = 21;

    private VirtualThreads() {
    }

    /**
     * Adds an executor, which a customizer may replace. It is no bean: Spring Boot creates none of its own beside one.
     */
    static void addTo(RedlockContext context, Environment environment) {
        if (environment.getProperty(PROPERTY, boolean.class, false) && Runtime.version().feature() >= JAVA_MIN) {
            SimpleAsyncTaskExecutor executor = new SimpleAsyncTaskExecutor(NAME);
            executor.setVirtualThreads(true);
            context.callbackExecutor(executor);
        }
    }
}
