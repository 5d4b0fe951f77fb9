package dev.redlock.node.send;

import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import java.util.List;
import java.util.function.Consumer;

/**
 * A request of the client itself, off the hot path, whose reply may be any value: handshake, {@code TIME}, scripts.
 * The reply to {@code SUBSCRIBE} is a push; an error is an ordinary reply.
 *
 * @threading event-loop-confined
 */
final class ValueRequest extends InFlightRequest {

    /** The reply to a successful {@code SUBSCRIBE}. No ordinary reply is a push. */
    static final RespValue SUBSCRIBED = RespValue.aggregate(RespType.PUSH, List.of());

    private final Consumer<RespValue> handler;
    /** Whether the push of a subscription completes it. */
    final boolean isSubscribe;

    /** The handler gets the reply, which may be an error; null if the connection was lost before it. */
    ValueRequest(Consumer<RespValue> handler) {
        this(handler, false);
    }

    ValueRequest(Consumer<RespValue> handler, boolean isSubscribe) {
        this.handler = handler;
        this.isSubscribe = isSubscribe;
    }

    void onValue(RespValue value) {
        handler.accept(value);
    }
}
