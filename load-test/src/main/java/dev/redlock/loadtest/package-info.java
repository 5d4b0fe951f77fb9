/**
 * The latency laboratory: the cost of a quorum lock against the number of nodes, measured on real ones.
 * {@link dev.redlock.loadtest.Main} depends on every other package, and none of them on it.
 */
package dev.redlock.loadtest;
