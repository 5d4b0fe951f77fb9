/** The load generator: plans, open and closed loops, recorders, and the auditor that detects overlapping holders. */
package dev.redlock.loadtest.rig;
