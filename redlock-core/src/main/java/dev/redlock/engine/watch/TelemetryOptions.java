package dev.redlock.engine.watch;

import java.util.function.Consumer;

/**
 * The options of the flight recorder.
 *
 * @param flightEventsMax      events that each event loop keeps; 0 for none
 * @param slowAcquireNs        duration from which an acquisition is reported; {@code Long.MAX_VALUE} for none
 * @param flightRecordListener gets the reports; null for the log
 * @threading                  immutable
 */
public record TelemetryOptions(int flightEventsMax, long slowAcquireNs, Consumer<String> flightRecordListener) {
}
