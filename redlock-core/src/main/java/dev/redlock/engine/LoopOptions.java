package dev.redlock.engine;

import dev.redlock.api.IdlePolicy;
import dev.redlock.api.TransportKind;
import io.netty.channel.EventLoop;
import java.util.List;

/**
 * The options of a client's event loops.
 *
 * @param given          the given loops; empty if the client runs its own
 * @param count          number of loops, given or own
 * @param idlePolicy     idle policy of the client's own loops
 * @param transport      transport of the client's own loops
 * @param closeTimeoutNs timeout of {@code close()}
 * @param telemetry      options of the flight recorder
 * @threading            immutable
 */
public record LoopOptions(List<EventLoop> given, int count, IdlePolicy idlePolicy, TransportKind transport,
        long closeTimeoutNs, TelemetryOptions telemetry) {
}
