/**
 * Faults between a client and a node: a {@link dev.redlock.trial.faults.FaultProxy} on loopback that slows, stalls,
 * mutes or cuts the connections through it.
 */
package dev.redlock.trial.faults;
