/**
 * Real nodes without set-up: {@link dev.redlock.loadtest.nodes.RedisNodes} starts N independent servers on this
 * machine, from whichever {@link dev.redlock.loadtest.nodes.Source} is at hand, and hurts them on request.
 */
package dev.redlock.loadtest.nodes;
