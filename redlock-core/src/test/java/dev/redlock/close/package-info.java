/**
 * The end of a client: how long a close waits for its releases, what its report says, and what callers get if an
 * event loop ends before the client. Loops are the client's own or those of the application. {@code
 * dev.redlock.testing.BlockedCall} is a call in a thread that blocks.
 */
package dev.redlock.close;
