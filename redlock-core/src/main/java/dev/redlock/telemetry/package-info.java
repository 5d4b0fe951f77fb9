/**
 * What operators see of a client: the events for JDK Flight Recorder, the flight recorder, and acquire times, of a
 * client and by group. Nothing here decides anything.
 */
package dev.redlock.telemetry;
