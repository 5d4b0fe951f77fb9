/**
 * Real nodes without set-up: {@link dev.redlock.loadtest.nodes.RedisNodes} starts N independent servers on this
 * machine from the first {@link dev.redlock.loadtest.nodes.Source} that works, and injects faults on request.
 */
package dev.redlock.loadtest.nodes;
