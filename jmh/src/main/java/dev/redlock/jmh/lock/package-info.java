/** Benchmarks of the lock client. */
package dev.redlock.jmh.lock;
