/** The {@code locks} command: what is held on the nodes, by whom, and how to free it. */
package dev.redlock.loadtest.locks;
