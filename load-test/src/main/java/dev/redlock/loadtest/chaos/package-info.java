/**
 * Real chaos: worker processes take locks on real nodes while a seeded plan hurts the nodes, and an audit that trusts
 * none of them decides from a shared file whether two sections overlapped.
 */
package dev.redlock.loadtest.chaos;
