/** What people look at: the report of a run, and plots for documents. */
package dev.redlock.loadtest.report;
