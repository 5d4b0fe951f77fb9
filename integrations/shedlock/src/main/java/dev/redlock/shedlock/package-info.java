/** Locks of ShedLock over independent Redis or Valkey masters. */
package dev.redlock.shedlock;
