/** The latency laboratory: what a quorum lock costs against the number of nodes, measured on real ones. */
package dev.redlock.loadtest;
