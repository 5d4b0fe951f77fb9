/**
 * Comparisons of the working tree with a commit, which are both compiled, and with other clients: each in a JVM of its
 * own, in turns.
 */
package dev.redlock.loadtest.commit;
