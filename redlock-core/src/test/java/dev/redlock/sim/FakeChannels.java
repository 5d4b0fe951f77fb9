package dev.redlock.sim;

import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * The channels of one model server: the connections that have subscribed, and the messages to them. A subscription ends
 * with its connection. {@code TrackingContract} compares these rules with real servers.
 */
final class FakeChannels {

    private static final Set<String> RESP2_COMMANDS = Set.of("SUBSCRIBE", "UNSUBSCRIBE", "PING");

    private final Map<String, Set<FakeTracking.Subscriber>> channels = new LinkedHashMap<>();
    private final FakeTracking tracking;

    FakeChannels(FakeTracking tracking) {
        this.tracking = tracking;
    }

    /** Forgets all connections, as a new process does. */
    void clear() {
        channels.clear();
    }

    /** The connection is closed. */
    void close(FakeTracking.Subscriber connection) {
        channels.values().forEach(each -> each.remove(connection));
    }

    /** {@code SUBSCRIBE channel}: a push in place of a reply; in RESP2 an array. */
    RespValue subscribe(FakeTracking.Subscriber connection, String channel, boolean isResp3) {
        channels.computeIfAbsent(channel, missing -> new LinkedHashSet<>()).add(connection);
        return answer(connection, "subscribe", channel, isResp3);
    }

    /** {@code UNSUBSCRIBE channel}. */
    RespValue unsubscribe(FakeTracking.Subscriber connection, String channel, boolean isResp3) {
        channels.getOrDefault(channel, new LinkedHashSet<>()).remove(connection);
        return answer(connection, "unsubscribe", channel, isResp3);
    }

    private RespValue answer(FakeTracking.Subscriber connection, String kind, String channel, boolean isResp3) {
        return RespValue.aggregate(isResp3 ? RespType.PUSH : RespType.ARRAY,
                List.of(RespValue.bulk(kind), bulk(channel), RespValue.integer(count(connection))));
    }

    private long count(FakeTracking.Subscriber connection) {
        return channels.values().stream().filter(each -> each.contains(connection)).count();
    }

    /** The error of a command on a connection in RESP2 that has subscribed; null if the server executes it. */
    String refusalInResp2(FakeTracking.Subscriber connection, String command) {
        return RESP2_COMMANDS.contains(command) || count(connection) == 0
                ? null
                : "ERR Can't execute '" + command.toLowerCase(Locale.ROOT) + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE"
                        + " / PING / QUIT / RESET are allowed in this context";
    }

    /**
     * Returns the number of connections that have subscribed, which get the message.
     *
     * @param isOwnEarly the message to the connection that publishes precedes its reply
     */
    int publish(String channel, String payload, boolean isOwnEarly) {
        Set<FakeTracking.Subscriber> connections = channels.getOrDefault(channel, Set.of());
        RespValue message = RespValue.aggregate(RespType.PUSH,
                List.of(RespValue.bulk("message"), bulk(channel), bulk(payload)));
        for (FakeTracking.Subscriber each : List.copyOf(connections)) {
            if (isOwnEarly) {
                FakeTracking.pushNow(each, message);
            } else {
                tracking.push(each, message);
            }
        }
        return connections.size();
    }

    /** The channels to which a connection has subscribed. */
    List<String> names() {
        return channels.keySet().stream().filter(name -> !channels.get(name).isEmpty()).toList();
    }

    private static RespValue bulk(String text) {
        return RespValue.bytes(RespType.BULK_STRING, text.getBytes(StandardCharsets.ISO_8859_1));
    }
}
