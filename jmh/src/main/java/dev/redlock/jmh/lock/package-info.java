/**
 * Benchmarks of the lock client, and three programs that measure whole lock cycles on real servers:
 * {@link dev.redlock.jmh.lock.CycleRun}, {@link dev.redlock.jmh.lock.YardstickRun} and
 * {@link dev.redlock.jmh.lock.LoopsRun}.
 */
package dev.redlock.jmh.lock;
