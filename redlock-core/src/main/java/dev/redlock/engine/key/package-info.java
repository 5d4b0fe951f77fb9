/**
 * The keys of locks, and tables by key. A {@link dev.redlock.engine.key.LockKey} is the name of one lock, encoded once
 * as the bytes that commands send; callers keep it and use it again. The other kinds of lock have keys that refer to
 * those of their resources: {@link dev.redlock.engine.key.SetKey} for several resources and their reservation, {@link
 * dev.redlock.engine.key.PermitKey} for a semaphore, with a key for each of its permits. What a key is called on the
 * server is decided in {@link dev.redlock.engine.key.KeyText} and in these two, and nowhere else.
 *
 * <p>{@link dev.redlock.engine.key.KeyedMap} finds an entry that has a key, also from the bytes of a push, without
 * allocation; {@link dev.redlock.engine.key.RecentValues} remembers a number for keys that were used lately.
 *
 * <p>All keys are immutable, and nothing here knows the engine. Not exported: public types are for its other rooms.
 */
package dev.redlock.engine.key;
