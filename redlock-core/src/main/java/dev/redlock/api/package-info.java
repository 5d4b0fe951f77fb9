/**
 * What a client hands out and what it is given: {@link dev.redlock.api.Lease} and the outcomes, states, callbacks and
 * policies. Nothing here creates a client; {@link dev.redlock.Redlock} does.
 */
package dev.redlock.api;
