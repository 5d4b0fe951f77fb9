package dev.redlock.spring;

/**
 * How a lock follows the result of its method.
 *
 * @threading immutable
 */
enum LockedResult {
    /** The lock is held until the method returns. */
    VALUE,
    /** The lock is held until the stage has completed. */
    STAGE,
    /** Each subscription takes a lock; one value at most. */
    MONO,
    /** Each subscription takes a lock; many values. */
    FLUX
}
