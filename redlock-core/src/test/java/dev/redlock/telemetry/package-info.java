/**
 * What an operator sees: counters, acquire times and groups, the flight recorder, events of JDK Flight Recorder,
 * warnings about a missing quorum and a blocked event loop, and the first log line. The tests show that no text has a
 * secret or a control character. {@code dev.redlock.testing.LogLines} collects the log.
 */
package dev.redlock.telemetry;
