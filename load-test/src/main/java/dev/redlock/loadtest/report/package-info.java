/** The report of a run for people, and plots for documents. */
package dev.redlock.loadtest.report;
