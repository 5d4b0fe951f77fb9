/**
 * Telemetry: what people see of a client. It decides nothing, and a lock works the same without it.
 *
 * <ul>
 * <li>{@link dev.redlock.engine.watch.LoopTelemetry} gets the events of every lock; {@link
 * dev.redlock.engine.watch.RareEvents} those of few locks, and serves the receivers that are off by default.
 * <li>{@link dev.redlock.engine.watch.ConductorCounters} counts; the meters and health read it from other threads.
 * <li>The flight recorder keeps the last events in a ring. {@link dev.redlock.engine.watch.FlightRecord} writes them as
 * text, and {@link dev.redlock.engine.watch.FlightReports} adds them to the report of a lost lease or a slow lock.
 * </ul>
 *
 * <p>It reads claims and acquisitions through {@link dev.redlock.engine.watch.ClaimView} and {@link
 * dev.redlock.engine.watch.AcquisitionView}, and changes none: what has to stay with a claim, such as its number, it
 * returns. It throws nothing, because an event may come in the middle of a change of state. Nothing here knows the
 * engine. Not exported: public types are for its other rooms.
 */
package dev.redlock.engine.watch;
