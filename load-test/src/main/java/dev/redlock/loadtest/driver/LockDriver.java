package dev.redlock.loadtest.driver;

import dev.redlock.api.TransportKind;
import dev.redlock.loadtest.consensus.ConsensusService;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;

/**
 * One lock client that the rig can drive.
 *
 * @threading any thread
 */
public interface LockDriver {
    /** Its name for the user, such as {@code redlock}. */
    String name();

    /** The library and its release, such as {@code Lettuce 7.7.0.RELEASE}. */
    String version();

    Set<DriverOption> options();

    /** Whether it locks over a majority of the nodes, or over the first node alone. */
    default boolean isQuorum() {
        return true;
    }

    /** The service whose servers it locks on; empty for Redis or Valkey. */
    default Optional<ConsensusService> service() {
        return Optional.empty();
    }

    /** The quarantine after the start of a node that may have held locks before; zero without a restart guard. */
    default Duration restartGuard() {
        return Duration.ZERO;
    }

    /** Whether it waits until replicas of the first node have each lock, so that it needs a node with replicas. */
    default boolean isWaitingForReplicas() {
        return false;
    }

    /** Whether it retains locks after their release, so that a release without the nodes succeeds. */
    default boolean isRetaining() {
        return false;
    }

    /** Connects with options that {@link #options()} names; returns when a majority is ready, or fails. */
    LockSession open(SessionSpec spec) throws IOException, InterruptedException;

    /** Why it cannot run with these options on this machine; empty if it can. */
    default Optional<String> refusal(TransportKind transport, boolean hasUnixSockets, boolean isThrifty,
            int nodeCount) {
        return Optional.empty();
    }
}
