/**
 * Crowds that want to lead, or to run one task: what it costs the servers that a leader stays, and how soon another one
 * follows when it resigns or dies.
 *
 * <p>{@link dev.redlock.loadtest.election.ElectionCommand} plays the rounds and prints the table; {@link
 * dev.redlock.loadtest.election.Candidates} are its clients.
 */
package dev.redlock.loadtest.election;
