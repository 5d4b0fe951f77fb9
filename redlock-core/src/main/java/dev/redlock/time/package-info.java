/**
 * Monotonic time and timers of an event loop. Not exported.
 */
package dev.redlock.time;
