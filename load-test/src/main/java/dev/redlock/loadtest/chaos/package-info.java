/**
 * Fault injection into real nodes: worker processes lock over them while a seeded plan injects faults, and an
 * independent audit checks from a shared file whether two sections overlapped.
 */
package dev.redlock.loadtest.chaos;
