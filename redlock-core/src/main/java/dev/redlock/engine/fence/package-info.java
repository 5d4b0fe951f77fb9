/**
 * Fencing tokens: numbers that grow with each lock of a resource, so that a store refuses a writer whose lease has
 * ended. The page internals/fencing.md has the rule and its proof.
 *
 * <p>A {@link dev.redlock.engine.fence.Fence} accompanies the claim of a fenced lock through its acquire round, which
 * also increments a counter on each node, through a raise round if the counters differ, and through the release, which
 * raises counters that lag. Which counters make a token is decided in {@link dev.redlock.quorum.FenceRule}, without
 * nodes; which values a node can have by {@link dev.redlock.engine.fence.FenceGuard}, from the clocks of the nodes.
 *
 * <p>A fence knows its claim as a {@link dev.redlock.engine.fence.FencedRound}, and a claim knows its fence, or a
 * search for a permit, as a {@link dev.redlock.engine.fence.FenceOrSearch}. Nothing here knows the engine. Not
 * exported: public types are for its other rooms.
 */
package dev.redlock.engine.fence;
