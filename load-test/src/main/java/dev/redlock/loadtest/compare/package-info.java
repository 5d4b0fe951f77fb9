/** The {@code compare} command: drivers side by side, each in a JVM of its own, and the table of their results. */
package dev.redlock.loadtest.compare;
