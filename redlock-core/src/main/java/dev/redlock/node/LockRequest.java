package dev.redlock.node;

/**
 * A claim as the nodes see it: the arguments of its commands, and the listener for their replies.
 *
 * @threading event-loop-confined
 */
public abstract class LockRequest extends InFlightRequest implements LockCommand, ReplyListener {
}
