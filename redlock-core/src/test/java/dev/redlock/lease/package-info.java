/**
 * A lease that is held: its states, manual and automatic extensions, the notice of its loss, and its release, also in
 * batches and while servers reject it. {@code HoldAtLeastTest} has the minimum hold time. Callbacks of leases are in
 * {@code dev.redlock.callbacks}, calls in the wrong state in {@code dev.redlock.api}. The base is {@code
 * dev.redlock.testing.VirtualTest}.
 */
package dev.redlock.lease;
