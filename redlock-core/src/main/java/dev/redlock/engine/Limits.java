package dev.redlock.engine;

/**
 * The bounds on the work of each event loop.
 *
 * @param inFlightMax           attempts that talk to the nodes at once
 * @param waitersMax            acquisitions that wait behind others of this process
 * @param localHandoffsMax      handoffs among local waiters before a pause; 0 for no bound
 * @param autoExtendedLeasesMax leases that are extended automatically
 * @threading                   immutable
 */
public record Limits(int inFlightMax, int waitersMax, int localHandoffsMax, int autoExtendedLeasesMax) {
}
