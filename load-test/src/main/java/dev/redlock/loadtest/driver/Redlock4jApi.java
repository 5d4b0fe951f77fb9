package dev.redlock.loadtest.driver;

import dev.redlock.loadtest.nodes.NodeAddress;
import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationTargetException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.Lock;

/**
 * The few calls of redlock4j that a cycle needs, found by name. What is called for each lock are the methods of
 * {@link Lock}, and two handles.
 *
 * @threading immutable
 */
final class Redlock4jApi {
    private static final String MANAGER = "org.codarama.redlock4j.RedlockManager";
    private static final String CONFIGURATION = "org.codarama.redlock4j.configuration.RedlockConfiguration";
    private static final String LOCK = "org.codarama.redlock4j.Redlock";

    private final Class<?> manager;
    private final Class<?> configuration;
    private final MethodHandle validityMs;
    private final MethodHandle isHeld;

    Redlock4jApi(ClassLoader loader) throws IOException {
        try {
            manager = Class.forName(MANAGER, true, loader);
            configuration = Class.forName(CONFIGURATION, true, loader);
            MethodHandles.Lookup lookup = MethodHandles.publicLookup();
            Class<?> lock = Class.forName(LOCK, true, loader);
            validityMs = lookup.findVirtual(lock, "getRemainingValidityTime", MethodType.methodType(long.class))
                    .asType(MethodType.methodType(long.class, Lock.class));
            isHeld = lookup.findVirtual(lock, "isHeldByCurrentThread", MethodType.methodType(boolean.class))
                    .asType(MethodType.methodType(boolean.class, Lock.class));
        } catch (ReflectiveOperationException e) {
            throw unlike(e);
        }
    }

    static boolean isIn(ClassLoader loader) {
        try {
            Class.forName(MANAGER, false, loader);
            return true;
        } catch (ClassNotFoundException e) {
            // What the question is about.
            return false;
        }
    }

    private static IOException unlike(ReflectiveOperationException problem) {
        return new IOException(
                "the redlock4j on the class path is unlike the one that this driver knows: " + problem, problem);
    }

    /** Connects; one attempt for each acquire. */
    AutoCloseable manager(List<NodeAddress> nodes, Duration ttl) throws IOException {
        try {
            Object builder = configuration.getMethod("builder").invoke(null);
            Class<?> type = builder.getClass();
            for (NodeAddress node : nodes) {
                type.getMethod("addRedisNode", String.class, int.class, String.class)
                        .invoke(builder, node.host(), node.port(), node.password().orElse(null));
            }
            type.getMethod("defaultLockTimeout", Duration.class).invoke(builder, ttl);
            type.getMethod("maxRetryAttempts", int.class).invoke(builder, 0);
            Object built = type.getMethod("build").invoke(builder);
            return (AutoCloseable) manager.getMethod("withJedis", configuration).invoke(null, built);
        } catch (InvocationTargetException e) {
            throw new IOException("redlock4j: " + e.getCause().getMessage(), e.getCause());
        } catch (ReflectiveOperationException e) {
            throw unlike(e);
        }
    }

    int connectedNodes(AutoCloseable ofManager) throws IOException {
        try {
            return (int) manager.getMethod("getConnectedNodeCount").invoke(ofManager);
        } catch (ReflectiveOperationException e) {
            throw unlike(e);
        }
    }

    Lock lock(AutoCloseable ofManager, String resource) throws IOException {
        try {
            return (Lock) manager.getMethod("createLock", String.class).invoke(ofManager, resource);
        } catch (InvocationTargetException e) {
            throw new IOException("redlock4j: " + e.getCause().getMessage(), e.getCause());
        } catch (ReflectiveOperationException e) {
            throw unlike(e);
        }
    }

    /** What is left of the validity, for the thread that holds it; 0 for others. */
    long validityMs(Lock lock) {
        try {
            return (long) validityMs.invokeExact(lock);
        } catch (Throwable e) {
            throw new IllegalStateException("redlock4j: " + e, e);
        }
    }

    /** Whether the calling thread holds it, and may release it. */
    boolean isHeld(Lock lock) {
        try {
            return (boolean) isHeld.invokeExact(lock);
        } catch (Throwable e) {
            throw new IllegalStateException("redlock4j: " + e, e);
        }
    }
}
