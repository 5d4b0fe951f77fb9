package dev.redlock.loadtest.result;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Readings taken at one moment, such as the memory in use.
 *
 * @param offsetMs their time, from the start of the run
 * @param values   by name; a name ends in its unit
 * @threading immutable
 */
public record Sample(long offsetMs, Map<String, Double> values) {
    /** Copies the map. */
    public Sample {
        values = Collections.unmodifiableMap(new LinkedHashMap<>(values));
    }
}
