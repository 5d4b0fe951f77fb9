/**
 * The results of a run and their files: {@link dev.redlock.loadtest.result.RunResult} in memory,
 * {@link dev.redlock.loadtest.result.RunFolder} on disk. The fields of the JSON are listed in
 * {@link dev.redlock.loadtest.result.ResultJson}.
 */
package dev.redlock.loadtest.result;
