package dev.redlock.loadtest.result;

import java.io.Serializable;
import java.util.Map;

/**
 * Readings taken at one moment, such as the memory in use.
 *
 * @param offsetMs their time, from the start of the run
 * @param values   by name; a name ends in its unit
 * @threading immutable
 */
public record Sample(long offsetMs, Map<String, Double> values) implements Serializable {
}
