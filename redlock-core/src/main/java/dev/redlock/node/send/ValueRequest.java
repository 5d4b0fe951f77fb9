package dev.redlock.node.send;

import dev.redlock.resp.RespValue;
import java.util.function.Consumer;

/**
 * A request of the client itself, off the hot path, whose reply may be any value: handshake, {@code TIME}, scripts.
 *
 * @threading event-loop-confined
 */
final class ValueRequest extends InFlightRequest {

    private final Consumer<RespValue> handler;

    /** The handler gets the reply, which may be an error; null if the connection was lost before it. */
    ValueRequest(Consumer<RespValue> handler) {
        this.handler = handler;
    }

    void onValue(RespValue value) {
        handler.accept(value);
    }
}
