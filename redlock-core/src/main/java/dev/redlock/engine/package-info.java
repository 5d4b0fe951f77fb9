/**
 * The engine behind the public API; not exported. {@code LockEngine} is the client, with one {@code Conductor} for each
 * event loop. Each command has a file: {@code AcquireOperation}, {@code RaiseOperation}, {@code ExtendOperation},
 * {@code ReleaseOperation}. docs/internals/architecture.md follows a lock through them.
 */
package dev.redlock.engine;
