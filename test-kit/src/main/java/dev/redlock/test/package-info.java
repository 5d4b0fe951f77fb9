/** Nodes inside the process, an extension of JUnit 5 that gives them to tests, and an annotation for Spring tests. */
package dev.redlock.test;
