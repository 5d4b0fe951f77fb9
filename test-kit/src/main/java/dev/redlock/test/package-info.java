/** Nodes inside the process, and an extension of JUnit 5 that gives them to tests. */
package dev.redlock.test;
