/** The measuring machine: load, recorders, and the auditor that watches for overlapping holders. */
package dev.redlock.loadtest.rig;
