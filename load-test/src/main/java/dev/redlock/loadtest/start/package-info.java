/**
 * The first second of a process: when a new JVM gets its first lock, and what its first second of requests sees.
 *
 * <p>{@link dev.redlock.loadtest.start.FirstSecondCommand} starts a process for each turn, in which {@link
 * dev.redlock.loadtest.start.FirstSecond} does what a small service does: it connects, takes a lock, and then one for
 * each request from blocking threads. The forms of the JVM take turns: cold, with an archive of class data, and with
 * the AOT cache where the JDK has it.
 */
package dev.redlock.loadtest.start;
