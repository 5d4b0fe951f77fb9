package dev.redlock.loadtest.result;

import java.io.Serializable;

/**
 * The cost of one cycle for the client's process, without the servers.
 *
 * @param cpuUsPerCycle          CPU time in microseconds; null if it cannot be separated from that of the rig
 * @param allocatedBytesPerCycle heap bytes allocated by all threads but those of the rig; null if unknown
 * @threading immutable
 */
public record ClientCost(Double cpuUsPerCycle, Double allocatedBytesPerCycle) implements Serializable {
    public static final ClientCost UNKNOWN = new ClientCost(null, null);
}
