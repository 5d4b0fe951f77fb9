/**
 * One acquisition, from the first command to its outcome: votes, validity, rollback, encodings of the commands,
 * fencing tokens, thrifty quorums, the limit of attempts in flight, and commands that a node executes late. How long
 * an acquisition waits for a holder is in {@code dev.redlock.waiting}. The base is {@code
 * dev.redlock.testing.VirtualTest}.
 */
package dev.redlock.acquire;
