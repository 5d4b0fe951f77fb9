package dev.redlock.loadtest.compare;

import dev.redlock.loadtest.result.SeriesResult;
import java.io.Serializable;

/**
 * The reply of a driver process, as an object on its standard output.
 *
 * @param series the measured or checked series; null after a warm-up
 * @param error  the reason of a failure, in a sentence; null on success
 * @threading immutable
 */
record DriverReply(SeriesResult series, String error) implements Serializable {
}
