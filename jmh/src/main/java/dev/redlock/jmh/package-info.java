/** The suite that runs all benchmarks in one go. */
package dev.redlock.jmh;
