/** Meters of a client for Micrometer, and observations of its locks. */
package dev.redlock.micrometer;
