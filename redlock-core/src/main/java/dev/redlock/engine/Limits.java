package dev.redlock.engine;

/**
 * The limits of each event loop.
 *
 * @param inFlightMax           attempts in flight
 * @param waitersMax            acquisitions that wait in a queue of this process
 * @param localHandoffsMax      handoffs among local waiters before a pause; 0 for no limit
 * @param autoExtendedLeasesMax leases with automatic extension
 * @param wakeUpKeysMax         resources whose waiters register for pushes; 0 for none
 * @threading                   immutable
 */
public record Limits(int inFlightMax, int waitersMax, int localHandoffsMax, int autoExtendedLeasesMax,
        int wakeUpKeysMax) {
}
