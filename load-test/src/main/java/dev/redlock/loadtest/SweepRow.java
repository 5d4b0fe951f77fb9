package dev.redlock.loadtest;

import dev.redlock.loadtest.rig.LoadResult;

/**
 * One line of the table.
 *
 * @param nodeCount how many nodes the locks spanned
 * @param result    what was measured
 * @threading immutable
 */
record SweepRow(int nodeCount, LoadResult result) {
}
