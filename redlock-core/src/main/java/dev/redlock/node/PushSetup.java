package dev.redlock.node;

import dev.redlock.node.send.ErrorAdvice;
import dev.redlock.node.send.ServerCapabilities;
import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;

/**
 * The part of a handshake that asks the server for pushes: the changes of registered keys, and the messages to waiting
 * clients. A server without them is usable.
 *
 * <p>RESP3 answers {@code SUBSCRIBE} by a push. Another reply than that or an error means that the stream is out of
 * step, or that messages would look like replies.
 *
 * @threading event-loop-confined
 */
final class PushSetup {

    /** The channel of the event loop. */
    final String channel;
    /** Why the server does not push changes of keys; null if it does. */
    private String wakeUpProblem;
    private String channelProblem;
    private boolean isSubscribed;
    /** The server without RESP3 has accepted the subscription. */
    private boolean isSubscribedInResp2;

    PushSetup(String channel) {
        this.channel = channel;
    }

    /** The client does not ask the server for pushes, or not with success. */
    void onNone(String reason) {
        wakeUpProblem = reason;
    }

    void onTracking(RespValue reply) {
        if (reply.isError()) {
            wakeUpProblem = "CLIENT TRACKING failed: " + ErrorAdvice.codeOf(reply.asText());
        }
    }

    /** Returns why the stream cannot be used; null if it can. */
    String onSubscribe(RespValue reply) {
        isSubscribed = reply.type() == RespType.PUSH;
        if (reply.isError()) {
            channelProblem = "SUBSCRIBE failed: " + ErrorAdvice.codeOf(reply.asText()) + "; waiting clients are"
                    + " woken all at once: allow +subscribe +publish and &redlock:wake:*";
        } else if (!isSubscribed) {
            return "the server answered SUBSCRIBE by a reply in place of a push: it is not supported, or a proxy"
                    + " replies; use its own address, or switch wake-ups off with RedlockContext.wakeUpKeysMax(0)";
        }
        return null;
    }

    /** A message from this server would not come, so none is expected; null for no problem. */
    void onMessageProblem(String problem) {
        if (problem != null && isSubscribed) {
            isSubscribed = false;
            channelProblem = problem;
        }
    }

    void onSubscribeInResp2(RespValue reply) {
        isSubscribedInResp2 = !reply.isError();
    }

    /** Whether the connection in RESP2 rejects all commands but a few until it unsubscribes. */
    boolean isUnsubscribeNeeded() {
        return isSubscribedInResp2;
    }

    ServerCapabilities.Pushes result() {
        return new ServerCapabilities.Pushes(wakeUpProblem, isSubscribed, channelProblem);
    }
}
