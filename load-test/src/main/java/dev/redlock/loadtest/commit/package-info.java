/** The comparison of the working tree with a commit: both are compiled, and their clients take turns. */
package dev.redlock.loadtest.commit;
