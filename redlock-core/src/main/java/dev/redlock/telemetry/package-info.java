/**
 * What operators see of a client: the events for JDK Flight Recorder, the flight recorder, and acquire times. Nothing
 * here decides anything.
 */
package dev.redlock.telemetry;
