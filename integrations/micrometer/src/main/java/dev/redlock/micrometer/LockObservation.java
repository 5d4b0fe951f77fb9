package dev.redlock.micrometer;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseCall;
import io.micrometer.common.KeyValue;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * One observation of a lock, which ends once. The handlers of the application may throw: that reaches a sink, and never
 * the holder of the lock.
 *
 * @threading any thread
 */
final class LockObservation {

    private final ObservationRegistry registry;
    private final Consumer<Throwable> failures;
    private final AtomicBoolean isEnded = new AtomicBoolean();
    private Observation observation = Observation.NOOP;

    /** Not started yet. */
    LockObservation(ObservationRegistry registry, Consumer<Throwable> failures) {
        this.registry = registry;
        this.failures = failures;
    }

    /**
     * Starts it.
     *
     * @param parent null for the current observation of this thread, if there is one
     */
    LockObservation start(String name, Observation parent, String group, String resource) {
        guarded(() -> {
            // Kept also if a handler throws at the start: those before it wait for the end.
            observation = Observation.createNotStarted(name, registry);
            if (parent != null) {
                observation.parentObservation(parent);
            }
            // Every observation of a name needs the same keys, also one that fails.
            observation.contextualName(name + " " + group)
                    .lowCardinalityKeyValue("lock.group", group)
                    .lowCardinalityKeyValue("outcome", KeyValue.NONE_VALUE)
                    .highCardinalityKeyValue("lock.name", String.valueOf(resource))
                    .start();
        });
        return this;
    }

    /** Ends with the outcome of an acquisition. */
    void end(AcquireOutcome outcome) {
        if (!observation.isNoop()) {
            guarded(() -> observation
                    .highCardinalityKeyValue("attempts", Integer.toString(outcome.attemptCount()))
                    .highCardinalityKeyValue("votes", "granted " + outcome.grantedCount() + ", refused "
                            + outcome.refusedCount() + ", failed " + outcome.failedCount() + ", unknown "
                            + outcome.unknownCount()));
        }
        end(outcome.kind());
    }

    /** Ends with an outcome, null if there is none; without effect the second time. */
    void end(Enum<?> outcome) {
        if (!isEnded.getAndSet(true)) {
            if (outcome != null) {
                guarded(() -> observation.lowCardinalityKeyValue("outcome", outcome.name()));
            }
            guarded(observation::stop);
        }
    }

    /** Records an exception of the observed call. */
    void error(Throwable thrown) {
        guarded(() -> observation.error(thrown));
    }

    /** Runs a task as a part of this observation, which is that of the thread meanwhile. */
    <T, X extends Throwable> T inScope(Lease lease, LeaseCall<T, X> task) throws X {
        Observation.Scope before = registry.getCurrentObservationScope();
        Observation.Scope scope = open(before);
        try {
            return task.call(lease);
        } catch (Throwable e) {
            error(e);
            throw e;
        } finally {
            close(scope, before);
        }
    }

    /** A handler that throws leaves the scope of the thread as it was. */
    private Observation.Scope open(Observation.Scope before) {
        try {
            return observation.openScope();
        } catch (Throwable e) {
            registry.setCurrentObservationScope(before);
            failures.accept(e);
            return Observation.Scope.NOOP;
        }
    }

    private void close(Observation.Scope scope, Observation.Scope before) {
        try {
            scope.close();
        } catch (Throwable e) {
            registry.setCurrentObservationScope(before);
            failures.accept(e);
        }
    }

    private void guarded(Runnable call) {
        try {
            call.run();
        } catch (Throwable e) {
            failures.accept(e);
        }
    }
}
