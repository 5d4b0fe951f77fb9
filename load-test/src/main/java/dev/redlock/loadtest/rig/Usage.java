package dev.redlock.loadtest.rig;

import dev.redlock.loadtest.result.ClientCost;

/**
 * The resources used in the recorded time of a run.
 *
 * @param clientCpuNs CPU time of this process without the rig's own threads. The garbage collector and the compiler
 *                    count, because the client causes their work
 * @param loopCpuNs   CPU time of the client's event loops; 0 unless asked for
 * @param serverCpuNs CPU time of the servers' main threads; 0 unless asked for
 * @param otherCores  the number of cores that other processes kept busy; 0 unless asked for
 * @threading immutable
 */
public record Usage(long ns, long clientCpuNs, long loopCpuNs, long serverCpuNs, double otherCores, long heapBytes) {
    /** The share of one cycle; unknown if there was none. */
    ClientCost perCycle(long cycles) {
        return cycles == 0
                ? ClientCost.UNKNOWN
                : new ClientCost(clientCpuNs / 1e3 / cycles, (double) heapBytes / cycles);
    }
}
