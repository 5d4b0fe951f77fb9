/**
 * The commands that measure drivers inside this JVM: latency, throughput, contention, soak. They share
 * {@link dev.redlock.loadtest.measure.LabCommand} for the order of a run and {@link dev.redlock.loadtest.measure.Lab}
 * for nodes, clients and results.
 */
package dev.redlock.loadtest.measure;
