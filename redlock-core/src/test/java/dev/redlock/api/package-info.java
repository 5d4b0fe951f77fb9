/**
 * The public API as a caller sees it: invalid arguments and calls in the wrong state with their exact messages, the
 * views {@code Lock} and {@code Election}, outcomes, retry policies and TLS options. {@code
 * dev.redlock.RedlockContextTest} and {@code dev.redlock.AcquireOptionsTest} have the options; they read
 * package-private members.
 */
package dev.redlock.api;
