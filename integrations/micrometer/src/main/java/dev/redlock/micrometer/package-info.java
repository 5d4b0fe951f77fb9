/** The figures of a client for Micrometer. */
package dev.redlock.micrometer;
