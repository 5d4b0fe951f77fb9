/**
 * The failure scenarios of the public debate about distributed locks, on real nodes. Each class prints a timeline and
 * checks it. docs/internals/is-it-safe.md explains them.
 */
package dev.redlock.loadtest.scenario;
