package dev.redlock.node.send;

/**
 * A request that a connection has sent, or is about to send, and whose reply is missing.
 *
 * <p>A class and not an interface: the type test on each reply and the store into the ring are one comparison with a
 * fixed place in the class, also when several kinds of request are in use.
 *
 * @threading event-loop-confined
 */
abstract class InFlightRequest {
}
