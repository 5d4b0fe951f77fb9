/**
 * Code of users: where it runs, and what it cannot do to the client. It may throw, block, re-enter the client or never
 * return, so the engine changes its state first, and calls it last.
 *
 * <ul>
 * <li>Callbacks run on the event loop, at once, through {@link dev.redlock.engine.callback.UserCallbacks}, which logs
 * what they throw.
 * <li>Functions of stages and listeners run through a {@link dev.redlock.engine.callback.CallbackExecutor}: by default
 * on {@link dev.redlock.engine.callback.CallbackThreads} of the client, because they may block. Blocked threads delay
 * neither elections nor, for more than two seconds, losses.
 * <li>A {@link dev.redlock.engine.callback.DependentStage} knows when nobody wants its value: then a lock
 * that it would get is released.
 * </ul>
 *
 * <p>Nothing here knows the engine: the futures of acquisitions and of runs read a {@code LeaseHandle}, so they are in
 * its package. Not exported: public types are for its other rooms.
 */
package dev.redlock.engine.callback;
