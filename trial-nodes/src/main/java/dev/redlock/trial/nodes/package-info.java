/**
 * Real nodes without set-up: {@link dev.redlock.trial.nodes.RedisNodes} starts N independent servers on this
 * machine from the first {@link dev.redlock.trial.nodes.Source} that works, and injects faults on request.
 */
package dev.redlock.trial.nodes;
