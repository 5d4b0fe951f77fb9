package dev.redlock.sim;

import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The client tracking of one model server: the connections that have read a key, and the pushes to them when the key
 * changes. A registration ends with its push or with its connection. {@code TrackingContract} compares these rules with
 * real servers.
 */
final class FakeTracking {

    /** The default of {@code tracking-table-max-keys}. */
    private static final int KEYS_MAX_DEFAULT = 1_000_000;
    private static final RespValue OK = RespValue.text(RespType.SIMPLE_STRING, "OK");

    private final Map<String, Set<Subscriber>> table = new LinkedHashMap<>();
    private final Set<Subscriber> subscribers = new LinkedHashSet<>();
    /** Pushes to the connection whose command is running, which follow its reply. */
    private final List<RespValue> afterReply = new ArrayList<>();
    private Subscriber executing;
    private List<String> scriptKeys = List.of();
    private int keysMax = KEYS_MAX_DEFAULT;

    /** The tracking state of one connection. */
    static final class Subscriber {
        private final String client;
        private final Consumer<RespValue> onPush;
        private boolean isOn;
        private boolean isOptIn;
        private boolean isNoLoop;
        /** The next command registers the keys that it reads. */
        private boolean isCaching;

        Subscriber(String client, Consumer<RespValue> onPush) {
            this.client = client;
            this.onPush = onPush;
        }
    }

    /** {@code >2 invalidate [key]}, or {@code >2 invalidate null} if the key is null: every key may have changed. */
    static RespValue invalidation(String key) {
        RespValue keys = key == null
                ? RespValue.nullOf(RespType.NULL)
                : RespValue.array(RespValue.bytes(RespType.BULK_STRING, key.getBytes(StandardCharsets.ISO_8859_1)));
        return RespValue.aggregate(RespType.PUSH, List.of(RespValue.bulk("invalidate"), keys));
    }

    void keysMax(int newMax) {
        keysMax = newMax;
    }

    boolean isTracked(String key) {
        return table.containsKey(key);
    }

    List<String> keys() {
        return List.copyOf(table.keySet());
    }

    /** Forgets all connections, as a new process does. */
    void clear() {
        table.clear();
        subscribers.clear();
    }

    /** Ends the tracking of a connection. Its registrations remain in the table, as on a real server. */
    void turnOff(Subscriber subscriber) {
        subscribers.remove(subscriber);
        subscriber.isOn = false;
        subscriber.isOptIn = false;
        subscriber.isNoLoop = false;
        subscriber.isCaching = false;
    }

    // ---- commands ---------------------------------------------------------------------------------------------------

    /** A command of this connection starts. */
    void onCommandStart(Subscriber subscriber) {
        executing = subscriber;
        limitKeys();
    }

    /**
     * The reply to the command is written.
     *
     * @param isCachingKept the command was one of {@code CLIENT}: after any other, even one that failed, the effect of
     *                      {@code CLIENT CACHING YES} ends
     */
    void onCommandEnd(boolean isCachingKept) {
        Subscriber ended = executing;
        executing = null;
        scriptKeys = List.of();
        ended.isCaching &= isCachingKept;
        List<RespValue> pushes = List.copyOf(afterReply);
        afterReply.clear();
        pushes.forEach(ended.onPush);
    }

    /** The command is a script on a server before Redis 7.2: any read registers all keys that the command names. */
    void onScriptStart(List<String> keys) {
        scriptKeys = keys;
    }

    /** {@code CLIENT TRACKING ON|OFF [OPTIN] [NOLOOP]}. A RESP2 connection gets the same replies, but no pushes. */
    RespValue tracking(List<String> words) {
        boolean isOptIn = false;
        boolean isNoLoop = false;
        for (String word : words.subList(3, words.size())) {
            switch (word.toUpperCase(Locale.ROOT)) {
                case "OPTIN" -> isOptIn = true;
                case "NOLOOP" -> isNoLoop = true;
                case "OPTOUT", "BCAST", "REDIRECT", "PREFIX" ->
                    throw new IllegalStateException("the model has no CLIENT TRACKING " + word);
                default -> {
                    return error("ERR syntax error");
                }
            }
        }
        switch (words.get(2).toUpperCase(Locale.ROOT)) {
            case "ON" -> {
                executing.isOn = true;
                executing.isOptIn = isOptIn;
                executing.isNoLoop = isNoLoop;
                subscribers.add(executing);
            }
            case "OFF" -> turnOff(executing);
            default -> {
                return error("ERR syntax error");
            }
        }
        return OK;
    }

    /** {@code CLIENT CACHING YES}. */
    RespValue caching(List<String> words) {
        if (!executing.isOn) {
            return error("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or"
                    + " OPTOUT mode enabled");
        }
        boolean isYes = words.get(2).equalsIgnoreCase("YES");
        if (!isYes && !words.get(2).equalsIgnoreCase("NO")) {
            return error("ERR syntax error");
        }
        if (!isYes || !executing.isOptIn) {
            return error("ERR CLIENT CACHING " + (isYes ? "YES" : "NO") + " is only valid when tracking is enabled in "
                    + (isYes ? "OPTIN" : "OPTOUT") + " mode.");
        }
        executing.isCaching = true;
        return OK;
    }

    private static RespValue error(String text) {
        return RespValue.text(RespType.SIMPLE_ERROR, text);
    }

    // ---- keys -------------------------------------------------------------------------------------------------------

    /** The command reads a key, which need not exist. Returns whether this registers its connection. */
    boolean onRead(String key) {
        if (!executing.isOn || executing.isOptIn && !executing.isCaching) {
            return false;
        }
        scriptKeys.forEach(this::register);
        // A server that registers all keys of a script does not register others that it reads.
        return (scriptKeys.isEmpty() || scriptKeys.contains(key)) && register(key);
    }

    private boolean register(String key) {
        return table.computeIfAbsent(key, missing -> new LinkedHashSet<>()).add(executing);
    }

    /**
     * A key is set, deleted, expired or renewed, by a command or without one. With NOLOOP, a change within a command or
     * script of the connection itself ends its registration without a push.
     */
    void onChanged(String key) {
        List<Subscriber> awaiting = awaiting(key);
        table.remove(key);
        awaiting.forEach(subscriber -> push(subscriber, invalidation(key)));
    }

    /** Returns the clients that get a push if the command that is running changes a key. */
    List<String> clientsAwaiting(String key) {
        return awaiting(key).stream().map(subscriber -> subscriber.client).toList();
    }

    private List<Subscriber> awaiting(String key) {
        return table.getOrDefault(key, Set.of())
                .stream()
                .filter(each -> each.isOn && !(each.isNoLoop && each == executing))
                .toList();
    }

    /** All keys are deleted. Every connection that has tracking on gets this push, whatever it has registered. */
    void onFlushed() {
        table.clear();
        List.copyOf(subscribers).forEach(subscriber -> push(subscriber, invalidation(null)));
    }

    /** Sends a push now, or after the reply to the command of the same connection that is running. */
    void push(Subscriber subscriber, RespValue push) {
        if (subscriber == executing) {
            afterReply.add(push);
        } else {
            subscriber.onPush.accept(push);
        }
    }

    /** Sends a push now, also before the reply to the command of the same connection that is running. */
    static void pushNow(Subscriber subscriber, RespValue push) {
        subscriber.onPush.accept(push);
    }

    /** Before a command, a server with too many keys in its table drops some as if this command changed them. */
    private void limitKeys() {
        while (table.size() > keysMax) {
            onChanged(table.keySet().iterator().next());
        }
    }
}
