package dev.redlock.api;

/**
 * The Netty transport of the client's own event loops.
 *
 * @threading immutable
 */
public enum TransportKind {
    /** The best that this machine has: epoll, io_uring, kqueue, NIO in this order. */
    AUTO,
    /** Linux io_uring. */
    IO_URING,
    /** Linux epoll. */
    EPOLL,
    /** BSD and macOS kqueue. */
    KQUEUE,
    /** The JDK's selector. */
    NIO
}
