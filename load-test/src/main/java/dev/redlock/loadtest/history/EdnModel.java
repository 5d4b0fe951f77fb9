package dev.redlock.loadtest.history;

/**
 * The models of which a history is exported. Both are models of Knossos.
 *
 * @threading immutable
 */
enum EdnModel {
    /** Acquires and releases of plain locks and writers. The end of a lease is a release by a process of its own. */
    MUTEX,
    /** Accepted writes and reads of the register. */
    REGISTER
}
