/** The {@code locks} command: it lists the held locks with their holders, and frees a lock. */
package dev.redlock.loadtest.locks;
