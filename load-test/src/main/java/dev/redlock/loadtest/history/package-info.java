/**
 * The history of a run: every operation of every process as one line of text, and its export for checkers of others.
 * {@link dev.redlock.loadtest.history.HistoryLine} documents the format.
 */
package dev.redlock.loadtest.history;
