/**
 * Semaphores: the choice of a permit, searches for a free one, pushes, and several waiters of one client. {@code
 * PermitsTest} is the base of tests that choose which permits are in use. The cases that also run on real servers are
 * in {@code dev.redlock.contract.SemaphoreContract}.
 */
package dev.redlock.semaphore;
