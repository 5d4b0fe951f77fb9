/**
 * The engine behind the public API; not exported. {@code LockEngine} is the client, with one {@code Conductor} for each
 * event loop. Each command has a file: {@code AcquireOperation}, {@code ExtendOperation}, {@code ReleaseOperation}. So
 * has the rule of each kind: {@code PermitOperation}, {@code SetOrder}, {@code Reservations}, {@code FencedClaims}.
 * docs/internals/architecture.md follows a lock through them. Retained locks have a room of their own:
 * {@code Retained*}, {@code Retention*} and {@code LocalWaiters}; the others know its door {@code Retention}.
 * Four leaves have packages: {@code engine.key}, {@code engine.fence}, {@code engine.watch} for telemetry, and
 * {@code engine.callback} for code of users.
 *
 * <p>Three states describe a lock. {@code LeaseState} is the life of the lock. {@code PendingAcquire.State} refines
 * ACQUIRING. {@code Claim.Phase} refines ATTEMPTING, HELD and RELEASING.
 */
package dev.redlock.engine;
