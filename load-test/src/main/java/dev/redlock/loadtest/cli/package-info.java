/**
 * The command line: the groups of options that commands share, the checks of their values, the progress display, exit
 * codes, and the commands that measure nothing.
 */
package dev.redlock.loadtest.cli;
