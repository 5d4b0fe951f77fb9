package dev.redlock.engine.watch;

import dev.redlock.engine.callback.CallbackExecutor;
import java.util.List;

/**
 * What telemetry needs of the configuration.
 *
 * @param options   those of the flight recorder
 * @param addresses the names of the nodes
 * @param callbacks runs the listener of reports
 * @threading       immutable
 */
public record TelemetrySetup(TelemetryOptions options, List<String> addresses, CallbackExecutor callbacks) {
}
