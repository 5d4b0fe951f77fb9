/**
 * The commands that measure whole lock cycles of this client and their lower bounds: {@code cycles} on real servers or
 * on model nodes inside the event loops, {@code yardstick} over bare sockets, {@code loops} for one and several event
 * loops, and {@code command-cost} for a server alone.
 */
package dev.redlock.loadtest.cycle;
