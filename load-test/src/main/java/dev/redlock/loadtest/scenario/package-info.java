/**
 * The scenarios that the public debate about distributed locks turns on, played on real nodes: each class prints its
 * timeline and checks it. docs/guides/failure-scenarios.md explains them.
 */
package dev.redlock.loadtest.scenario;
