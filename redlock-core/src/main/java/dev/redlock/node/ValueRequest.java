package dev.redlock.node;

import dev.redlock.resp.RespValue;

/**
 * A request of the node's own, off the hot path, whose reply is any value.
 *
 * @threading event-loop-confined
 */
@FunctionalInterface
interface ValueRequest {

    /**
     * The reply.
     *
     * @param value the reply, an error reply too; null if the connection broke before it
     */
    void onValue(RespValue value);
}
