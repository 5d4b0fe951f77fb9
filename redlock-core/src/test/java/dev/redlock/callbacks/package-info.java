/**
 * Code of the user that runs during a request: callbacks, stages, tasks and executors. It may block, throw, re-enter
 * the client or give up; each request still has one outcome, and no event loop blocks. {@code
 * dev.redlock.testing.BlockedCall} is a call in a thread that blocks. Random re-entry is in {@code
 * dev.redlock.hostile}.
 */
package dev.redlock.callbacks;
