/**
 * Locks of several resources at once, and read-write locks. Both make reservations while they wait, so that a stream
 * of other holders does not starve them. The cases that also run on real servers are in {@code SetContract} and
 * {@code ReadWriteContract} of {@code dev.redlock.contract}. The base is {@code dev.redlock.testing.VirtualTest}.
 */
package dev.redlock.set;
