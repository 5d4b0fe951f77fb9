/**
 * Tails of latency under load, and what caused them.
 *
 * <p>{@link dev.redlock.loadtest.tails.TailsCommand} starts cycles at shares of the highest rate, with redlock and with
 * bare sockets in turns. Each latency counts from the intended time of its cycle, so a stall counts for every cycle
 * that it delays. Slow cycles that overlap are one {@link dev.redlock.loadtest.tails.Step}: one stall delays many
 * cycles at a high rate. Meanwhile {@link dev.redlock.loadtest.tails.JvmPauses} records what stops the JVM, and {@link
 * dev.redlock.loadtest.tails.StallWatch} for how long each thread that a cycle needs has waited for a core or used one.
 * {@link dev.redlock.loadtest.tails.Cause} compares both with the slowest cycle of a step.
 */
package dev.redlock.loadtest.tails;
