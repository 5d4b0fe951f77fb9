package dev.redlock.loadtest.result;

/**
 * What one cycle costs the client's process, servers left out.
 *
 * @param cpuUsPerCycle          CPU time in microseconds; null where it cannot be told from the rig's own
 * @param allocatedBytesPerCycle heap bytes allocated by all threads but the rig's; null where it cannot be told
 * @threading immutable
 */
public record ClientCost(Double cpuUsPerCycle, Double allocatedBytesPerCycle) {
    /** Was not measured. */
    public static final ClientCost UNKNOWN = new ClientCost(null, null);
}
