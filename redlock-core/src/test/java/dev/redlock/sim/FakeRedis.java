package dev.redlock.sim;

import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.LongUnaryOperator;
import java.util.function.ToIntBiFunction;
import java.util.stream.IntStream;

/**
 * The state and commands of one Redis server, without network: keys with expiry on its own wall clock, scripts,
 * identity. Strings hold bytes, one char each (ISO 8859-1), so tokens survive.
 */
public final class FakeRedis {

    private static final long US_PER_S = 1_000_000;
    private static final long NS_PER_MS = 1_000_000;
    /** The median on an idle server with few keys. */
    private static final long ACTIVE_EXPIRY_MS = 52;
    static final String COUNTER_MARK = ":redlock:fence";
    private static final String SET_SUFFIX = "_set";
    private static final String MARK_END = COUNTER_MARK + ":run_id";
    /** The largest exact integer of Lua. */
    static final long COUNTER_MAX = 9_007_199_254_740_991L;
    private static final String WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value";
    private static final String QUEUE_ENDING = "_in_order";
    static final long COUNTER_ENDED = Long.MIN_VALUE;
    private static final long COUNTER_IS_TEXT = Long.MIN_VALUE + 1;
    /** The suffix of the key with which clients probe conditional commands. */
    private static final String PROBE_NAME = "redlock:probe";
    private static final String NO_REPLICATION_ID = "0".repeat(40);
    private static final String SET_PROBE_NAME = PROBE_NAME + ":redlock:permit";
    private static final RespValue OK = RespValue.text(RespType.SIMPLE_STRING, "OK");
    private static final long EPOCH_US = 1_800_000_000L * US_PER_S;

    private final Timeline timeline;
    private final String name;
    private final Map<String, Key> keys = new TreeMap<>();
    private final Set<String> scripts = new HashSet<>();
    private final List<InjectedError> injected = new ArrayList<>();
    private final Map<String, RespValue> answers = new TreeMap<>();
    private final Map<String, String> denied = new TreeMap<>();
    private final List<String> log = new ArrayList<>();
    private int generation;
    private int replicationCount;
    private String runId;
    private long startSeconds;
    private long rateBaseNs;
    private long rateBaseUs;
    private long ratePpm;
    private String role = "master";
    private String replicationId;
    private String secondReplicationId;
    /** The error with which it answers what writes; null if it accepts writes. */
    private String writeError;
    private int replicaCount;
    private int minReplicas;
    private int maxLagSeconds = 10;
    private long maxMemory;
    private String evictionPolicy = "noeviction";
    private String modeField = "redis_mode:standalone";
    private String user = "default";
    private String password;
    private boolean isResp3Known = true;
    private boolean hasEffectReplication = true;
    private boolean isLogging;
    private boolean isQueueDenied;
    private boolean mayShorten;
    private LongUnaryOperator fencedReply = value -> value;
    private LongUnaryOperator searchReply = value -> value;
    private Kind kind = Kind.REDIS_7;
    private Kind claimedKind;
    private String permittedPrefix = "";
    private boolean isEachSetOptionTaken;
    /** Null outside of a cluster. */
    private FakeCluster.Member member;
    private static final String TICKETS_NAME = ":tickets";
    static final String TRACE_NAME = ":trace";
    private static final String MARK_NAME = ":waiting";

    private final Map<String, Integer> commandCounts = new TreeMap<>();
    private final FakeTracking tracking = new FakeTracking();
    private final FakeChannels channels = new FakeChannels(tracking);
    private Consumer<String> expiryListener = value -> {
    };
    private BiConsumer<String, String> extensionListener = (client, key) -> {
    };
    private LongSupplier activeExpiryMs = () -> ACTIVE_EXPIRY_MS;
    private final List<String> published = new ArrayList<>();
    private ToIntBiFunction<String, String> publisher = (channel, payload) -> {
        int receivers = publish(channel, payload);
        if (receivers == 0) {
            published.add(channel + " " + payload);
        }
        return receivers;
    };
    private ExecuteListener listener = (client, command, reply) -> {
    };
    private StepListener stepListener = new StepListener() {
    };

    /** The kind of server, by its conditional commands. */
    public enum Kind {
        REDIS_7("", "", false), REDIS_8_4("DELEX", "IFEQ", true), VALKEY_8_1("", "IFEQ", false), VALKEY_9("DELIFEQ",
                "IFEQ", false);

        private final String conditionalDelete;
        private final String setOption;
        private final boolean hasMsetex;

        Kind(String conditionalDelete, String setOption, boolean hasMsetex) {
            this.conditionalDelete = conditionalDelete;
            this.setOption = setOption;
            this.hasMsetex = hasMsetex;
        }

        /** Whether a read of a script registers all keys of its command, not only the read one: before Redis 7.2. */
        public boolean isEveryScriptKeyRegistered() {
            return this == REDIS_7;
        }

        /** Whether a message that a command publishes to its own connection precedes the reply: before Redis 7.2. */
        boolean isOwnMessageEarly() {
            return this == REDIS_7;
        }
    }

    /** Called after each executed lock command. */
    @FunctionalInterface
    public interface ExecuteListener {
        void onExecuted(String client, String command, String reply);
    }

    /** Sees each command of a token with all its keys, and each change of the clock before it happens. */
    public interface StepListener {

        default void onExecuted(String verb, List<String> keys, String token, long reply) {
        }

        default void onClockChange() {
        }
    }

    /** Gets a lock, or the entry of a reader, that a key has; expired or not. */
    @FunctionalInterface
    interface EntryVisitor {
        void visit(String key, String token, long expiresAtMs, boolean isEntry);
    }

    private record Key(String value, long expiresAtMs, TreeMap<String, Long> entries) {
        private Key(String value, long expiresAtMs) {
            this(value, expiresAtMs, null);
        }
    }

    private record InjectedError(String command, String error, int[] left) {
    }

    /** One connection, on the side of the server. */
    public final class Session {
        private final String client;
        private final FakeTracking.Subscriber subscriber;
        private boolean isResp3;
        private boolean isIn;
        /** The next command is for a permit that the server imports. */
        private boolean isAsking;

        private Session(String client, Consumer<RespValue> onPush) {
            this.client = client;
            this.subscriber = new FakeTracking.Subscriber(client, push -> {
                if (isResp3) {
                    onPush.accept(push);
                }
            });
        }

        /**
         * Executes one request.
         *
         * @param out gets the reply, before the request's pushes to this connection are sent
         */
        public void execute(RespValue request, ByteBuf out) {
            List<String> words = new ArrayList<>();
            for (RespValue element : request.elements()) {
                words.add(new String(element.asBytes(), StandardCharsets.ISO_8859_1));
            }
            tracking.onCommandStart(subscriber);
            FakeRedis.this.execute(this, words).writeTo(out);
            tracking.onCommandEnd(words.get(0).equalsIgnoreCase("CLIENT"));
        }

        /** Whether the connection can receive pushes. */
        public boolean isResp3() {
            return isResp3;
        }

        /** The connection is closed. */
        public void close() {
            tracking.turnOff(subscriber);
            channels.close(subscriber);
        }
    }

    public FakeRedis(Timeline timeline, String name) {
        this.timeline = timeline;
        this.name = name;
        this.rateBaseNs = timeline.nowNs();
        this.rateBaseUs = EPOCH_US;
        newProcess();
        startSeconds -= 86_400;
    }

    // ---- the process and its clock ----------------------------------------------------------------------------------

    /** Starts a new process: new identity, uptime zero, no scripts. Keys stay, as with an append-only file. */
    public void newProcess() {
        generation++;
        runId = String.format(Locale.ROOT, "%s-%032d", name, generation);
        startSeconds = wallUs() / US_PER_S;
        replicationId = newReplicationId();
        secondReplicationId = NO_REPLICATION_ID;
        scripts.clear();
        tracking.clear();
        channels.clear();
    }

    private String newReplicationId() {
        return String.format(Locale.ROOT, "%s-%032d", name, ++replicationCount);
    }

    /** Becomes a replica and gets the present keys of a primary. */
    public void replicate(FakeRedis primary) {
        role = "slave";
        replicationId = primary.replicationId;
        secondReplicationId = primary.secondReplicationId;
        keys.clear();
        primary.keys.forEach((key, value) -> keys.put(key, new Key(value.value, value.expiresAtMs,
                value.entries == null ? null : new TreeMap<>(value.entries))));
    }

    /**
     * Refuses writes with an error, as a primary without its replicas does; null ends it. {@code OOM} refuses only
     * those that need memory.
     */
    public void refuseWrites(String error) {
        writeError = error;
    }

    boolean isRefusingWrites() {
        return writeError != null || role.equals("slave");
    }

    boolean isOutOfMemory() {
        return writeError != null && writeError.startsWith("OOM");
    }

    private RespValue writeError() {
        return error(role.equals("slave") ? "READONLY You can't write against a read only replica." : writeError);
    }

    /** A replica becomes a primary with the keys that it has. */
    public void promote() {
        role = "master";
        secondReplicationId = replicationId;
        replicationId = newReplicationId();
    }

    /** The history of its data gets another name: it has its first replica, or had none for long. */
    public void renameHistory() {
        replicationId = newReplicationId();
        secondReplicationId = NO_REPLICATION_ID;
    }

    /** Reports one constant id, as Garnet does. */
    public void constantReplicationId() {
        replicationId = "0123456789";
        secondReplicationId = "0123456789";
    }

    /** Sets the connected replicas, and the setting {@code min-replicas-to-write}; 0 turns it off. */
    public void replicas(int count, int newMinReplicas) {
        replicaCount = count;
        minReplicas = newMinReplicas;
    }

    /** Sets {@code min-replicas-max-lag}. */
    public void maxLag(int seconds) {
        maxLagSeconds = seconds;
    }

    /** Names the time of the process as the primary of one history. */
    public String reign() {
        return runId + ":" + replicationId;
    }

    /** Loses all keys with the process. */
    public void loseData() {
        keys.clear();
    }

    /** {@code FLUSHALL}, by anybody. */
    public void flushAll() {
        keys.clear();
        tracking.onFlushed();
    }

    /** Returns the wall clock, microseconds since the epoch. */
    public long wallUs() {
        long elapsedNs = timeline.nowNs() - rateBaseNs;
        return rateBaseUs + elapsedNs / 1000 + elapsedNs / 1000 * ratePpm / 1_000_000;
    }

    long wallMs() {
        return wallUs() / 1000;
    }

    /** Makes the clock fast or slow, parts per million. */
    public void clockRate(long ppm) {
        stepListener.onClockChange();
        rateBaseUs = wallUs();
        rateBaseNs = timeline.nowNs();
        ratePpm = ppm;
    }

    /** Makes the clock jump. */
    public void clockJump(long ms) {
        stepListener.onClockChange();
        rateBaseUs += ms * 1000;
        tracking.keys().forEach(this::planActiveExpiry);
    }

    /** Sets the uptime, as if the process had started earlier. */
    public void uptime(long seconds) {
        startSeconds = wallUs() / US_PER_S - seconds;
    }

    public String runId() {
        return runId;
    }

    /** Sets the run_id, for example that of another server. */
    public void runId(String other) {
        runId = other;
    }

    /** Sets a line of INFO: {@code redis_mode:cluster}, or {@code server_mode:cluster} on Valkey. */
    public void modeField(String newField) {
        modeField = newField;
    }

    /** Makes it a server of a cluster. */
    void join(FakeCluster.Member newMember) {
        member = newMember;
        modeField = "redis_mode:cluster";
    }

    /** Sets what INFO shows about the eviction of keys. */
    public void eviction(long newMaxMemory, String newPolicy) {
        maxMemory = newMaxMemory;
        evictionPolicy = newPolicy;
    }

    public void role(String newRole) {
        role = newRole;
    }

    public void password(String newUser, String newPassword) {
        user = newUser;
        password = newPassword;
    }

    /** Models a server before version 6, which has no HELLO. */
    public void onlyResp2() {
        isResp3Known = false;
    }

    /** Models a server before version 5, whose scripts must not write after they have read the clock. */
    public void before5() {
        isResp3Known = false;
        hasEffectReplication = false;
    }

    /** Sets whether the script of an extension to a shorter ttl shortens the key, as a conditional SET does. */
    public void shortening(boolean isWanted) {
        mayShorten = isWanted;
    }

    public void kind(Kind newKind) {
        kind = newKind;
    }

    /** Makes INFO and COMMAND describe another kind of server, as those of a proxy or a fork may do. */
    public void claims(Kind otherKind) {
        claimedKind = otherKind;
    }

    /** Restricts the user to keys with one prefix. */
    public void permitKeys(String prefix) {
        permittedPrefix = prefix;
    }

    /** Makes SET ignore options that it does not support. */
    public void takeEachSetOption() {
        isEachSetOptionTaken = true;
    }

    /** @return the number of executed commands with this name; scripts by the script's name, probes as {@code probe} */
    public int commandCount(String command) {
        return commandCounts.getOrDefault(command, 0);
    }

    /**
     * Sets how long after its expiry the server deletes a tracked key that nobody touches.
     *
     * @param newDelayMs called for each registration; negative for never
     */
    public void activeExpiry(LongSupplier newDelayMs) {
        activeExpiryMs = newDelayMs;
    }

    /** Sets how many keys may be tracked; {@code tracking-table-max-keys}. */
    public void trackedKeysMax(int newMax) {
        tracking.keysMax(newMax);
    }

    public void flushScripts() {
        scripts.clear();
    }

    /**
     * Makes the next {@code count} commands with this name fail with an error: EVALSHA also by script name, CLIENT also
     * with its subcommand, such as {@code CLIENT TRACKING}.
     */
    public void failNext(String command, String error, int count) {
        injected.add(new InjectedError(command, error, new int[]{count}));
    }

    /** Makes a command fail in the script that probes the rights of the user, and nowhere else; null ends it. */
    public void denyInProbe(String command, String error) {
        if (error == null) {
            denied.remove(command);
        } else {
            denied.put(command, error);
        }
    }

    /** Sets the reply to a command for all clients; "INFO server" and the like select one form of it. */
    public void answer(String command, RespValue reply) {
        answers.put(command, reply);
    }

    public void clearErrors() {
        injected.clear();
    }

    public void listener(ExecuteListener newListener) {
        listener = newListener;
    }

    public void stepListener(StepListener newListener) {
        stepListener = newListener;
    }

    /**
     * Shows each key with a string, and each entry of a reader, but no queue, and no key of traces: its value is that
     * of a lock.
     */
    void visitEntries(EntryVisitor visitor) {
        keys.forEach((name, key) -> {
            if (name.endsWith(TRACE_NAME) || FakeQueue.isOfQueue(name)) {
                return;
            }
            if (key.entries == null) {
                visitor.visit(name, key.value, key.expiresAtMs, false);
            } else {
                key.entries.forEach((token, score) -> visitor.visit(name, token, score, true));
            }
        });
    }

    /** When the wall clock reaches a time, on the monotonic clock, if nobody changes it. */
    long reachedNs(long wallMs) {
        long neededUs = wallMs * 1000 - rateBaseUs;
        long us = (long) ((double) neededUs * 1_000_000 / (1_000_000 + ratePpm));
        while (us + us * ratePpm / 1_000_000 < neededUs) {
            us++;
        }
        while (us - 1 + (us - 1) * ratePpm / 1_000_000 >= neededUs) {
            us--;
        }
        return rateBaseNs + us * 1000;
    }

    /** Sets a listener for pushes of extensions: to which client, and of which key. */
    public void extensionListener(BiConsumer<String, String> newListener) {
        extensionListener = newListener;
    }

    /** An extension is about to change a key. */
    void onExtension(String key) {
        tracking.clientsAwaiting(key).forEach(client -> extensionListener.accept(client, key));
    }

    /** The counter in the reply to a granted fenced acquire. */
    long fenced(long value) {
        return fencedReply.applyAsLong(value);
    }

    /** Replaces the counter in the reply to each granted fenced acquire. */
    public void fencedReply(LongUnaryOperator newReply) {
        fencedReply = newReply;
    }

    /** Replaces the reply to each search for a free permit. */
    public void searchReply(LongUnaryOperator newReply) {
        searchReply = newReply;
    }

    /** Starts to record a line for each lock command. */
    public void startLog() {
        isLogging = true;
    }

    /** @return lines like {@code acquire orders -> 1}, oldest first */
    public List<String> log() {
        return log;
    }

    // ---- keys -------------------------------------------------------------------------------------------------------

    /** Looks at a key without an access that would expire it. */
    public String get(String key) {
        Key found = keys.get(key);
        return found == null || isExpired(found) ? null : found.value;
    }

    /**
     * Whether a reader or a writer would get a lock with this key, whose expired entries do not count.
     */
    boolean isFree(String key, boolean isForReader) {
        Key found = keys.get(key);
        if (found == null || isExpired(found)) {
            return true;
        }
        long nowMs = wallMs();
        return found.entries != null
                && found.entries.values().stream().noneMatch(score -> isForReader ? score < -nowMs : score > nowMs);
    }

    /** In Redis, a key is expired when the time is after its expiry, not when it is equal. */
    private boolean isExpired(Key key) {
        return key.expiresAtMs >= 0 && wallMs() > key.expiresAtMs;
    }

    /** The value that a command finds. A key that has expired is deleted by this access. */
    String find(String key) {
        String value = get(key);
        Key expired = value == null ? keys.remove(key) : null;
        if (expired != null) {
            if (FakeQueue.isOfQueue(key)) {
                // No lock has ended.
            } else if (expired.entries == null) {
                expiryListener.accept(expired.value);
            } else {
                expired.entries.keySet().forEach(expiryListener);
            }
            tracking.onChanged(key);
        }
        return value;
    }

    /** An entry of a sorted set has expired before its key. */
    void onEntryExpired(String value) {
        expiryListener.accept(value);
    }

    /** Sets a listener for the values of keys that expire. */
    public void expiryListener(Consumer<String> listener) {
        expiryListener = listener;
    }

    /** The value for a read command, which registers a tracking connection. */
    String read(String key) {
        String value = find(key);
        if (tracking.onRead(key)) {
            planActiveExpiry(key);
        }
        return value;
    }

    /** The server finds the expired key some time later. */
    private void planActiveExpiry(String key) {
        Key found = keys.get(key);
        long delayMs = activeExpiryMs.getAsLong();
        if (found == null || found.expiresAtMs < 0 || delayMs < 0) {
            return;
        }
        long leftMs = Math.max(0, found.expiresAtMs + 1 - wallMs());
        timeline.after((leftMs + delayMs) * NS_PER_MS, () -> {
            if (keys.get(key) == found && tracking.isTracked(key) && find(key) != null) {
                // Its clock is slow, or was set back.
                planActiveExpiry(key);
            }
        });
    }

    /** When a key expires, on the wall clock in ms; -1 without an expiry, and for a missing key. */
    long expiresAtMs(String key) {
        return find(key) == null ? -1 : keys.get(key).expiresAtMs;
    }

    /** Replaces what publishes the messages of scripts: from the channel and the message to the number of receivers. */
    public void publisher(ToIntBiFunction<String, String> newPublisher) {
        publisher = newPublisher;
    }

    /** The user of the clients may not add to a queue: it lacks the right to {@code ZADD}. */
    public void denyQueue() {
        isQueueDenied = true;
    }

    boolean isQueueDenied() {
        return isQueueDenied;
    }

    /** Another client enters a queue, as the first one. */
    public void enterQueue(String key, String client) {
        Map<String, Long> entries = entries(key);
        entries.put(client, 0L);
        setEntries(key, entries, wallMs() + 60_000);
        touchTrace(key.replace(":queue", TRACE_NAME), 60_000);
    }

    /** @return the keys with registrations, which need not exist */
    public List<String> trackedKeys() {
        return tracking.keys();
    }

    /** How many entries a queue has; 0 for a key of another kind. */
    public int entryCount(String key) {
        Map<String, Long> entries = entries(key);
        return entries == null ? 0 : entries.size();
    }

    /** @return the messages that nobody has received, each as {@code channel message} */
    public List<String> published() {
        return published;
    }

    /** A script publishes a message: returns the number of its receivers. */
    int deliver(String channel, String message) {
        return publisher.applyAsInt(channel, message);
    }

    /** Whether a key exists that is no string. */
    private boolean isNoString(String key) {
        String value = read(key);
        return value != null && !typeOf(value).equals("string");
    }

    static String typeOf(String value) {
        return value == null ? "none" : value.equals(SORTED_SET) ? "zset" : value.equals(HASH) ? "hash" : "string";
    }

    /** Replaces a key by a sorted set with one member, as a reader does. */
    public void setReader(String key, String token, long ttlMs) {
        setEntries(key, Map.of(token, wallMs() + ttlMs), wallMs() + ttlMs);
    }

    /** Replaces a key by a sorted set of another program, which never expires. */
    public void setForeignSet(String key, String member, long score) {
        setEntries(key, Map.of(member, score), -1);
    }

    /** The value of a sorted set, for commands that read a key as a string. */
    static final String SORTED_SET = "(a sorted set)";
    /** A value for {@link #set}: the key of another program. */
    public static final String HASH = "(a hash)";

    /** The entries of a sorted set, with their scores; empty for a missing key, null for one of another type. */
    Map<String, Long> entries(String key) {
        if (find(key) == null) {
            return new TreeMap<>();
        }
        TreeMap<String, Long> entries = keys.get(key).entries;
        return entries == null ? null : new TreeMap<>(entries);
    }

    /** Sets the entries of a sorted set, which expires at a time; an empty one is deleted. */
    void setEntries(String key, Map<String, Long> entries, long expiresAtMs) {
        if (entries.isEmpty()) {
            delete(key);
        } else {
            keys.put(key, new Key(SORTED_SET, expiresAtMs, new TreeMap<>(entries)));
            tracking.onChanged(key);
        }
    }

    /** @param ttlMs -1 for no expiry */
    public void set(String key, String value, long ttlMs) {
        keys.put(key, new Key(value, ttlMs < 0 ? -1 : wallMs() + ttlMs));
        tracking.onChanged(key);
    }

    /** Deletes a key, as a command or an eviction does. */
    public boolean delete(String key) {
        boolean wasThere = find(key) != null;
        if (wasThere) {
            keys.remove(key);
            tracking.onChanged(key);
        }
        return wasThere;
    }

    /** @return milliseconds; -1 without expiry, -2 for a missing key */
    public long pttl(String key) {
        if (get(key) == null) {
            return -2;
        }
        long expiresAtMs = keys.get(key).expiresAtMs;
        return expiresAtMs < 0 ? -1 : expiresAtMs - wallMs();
    }

    /** @return the counter of a resource without braces; 0 if it is missing */
    public long counter(String resource) {
        return countOf(resource + COUNTER_MARK + ":{" + resource + "}");
    }

    /** @return the start value of a missing counter now */
    public long counterSeed() {
        return wallUs() / US_PER_S << 20;
    }

    /** Deletes the fencing counters only, as if they had expired. */
    public void loseCounters() {
        List.copyOf(keys.keySet())
                .stream()
                .filter(key -> key.contains(COUNTER_MARK) && !key.endsWith(MARK_END))
                .forEach(this::delete);
    }

    /** @return every key, also those of counters and marks, and expired ones */
    public Set<String> allKeys() {
        return keys.keySet();
    }

    /** @return the existing keys of locks, without fencing counters and marks of the restart guard */
    public Set<String> keys() {
        Set<String> locks = new TreeSet<>(keys.keySet());
        locks.removeIf(key -> key.contains(COUNTER_MARK) || key.endsWith(TICKETS_NAME) || get(key) == null);
        return locks;
    }

    // ---- commands ---------------------------------------------------------------------------------------------------

    /**
     * Opens a connection.
     *
     * @param client name of the client
     * @param onPush receives pushes, on the node's thread
     */
    public Session connect(String client, Consumer<RespValue> onPush) {
        return new Session(client, onPush);
    }

    /** A push {@code invalidate [key]}; null in place of the array if the key is null. */
    public static RespValue invalidation(String key) {
        return FakeTracking.invalidation(key);
    }

    /**
     * {@code PUBLISH}, by anybody. A message to the connection whose command is running follows the reply, or precedes
     * it before Redis 7.2.
     *
     * @return the number of connections that have subscribed to the channel
     */
    public int publish(String channel, String payload) {
        return channels.publish(channel, payload, kind.isOwnMessageEarly());
    }

    /** @return the channels to which a connection has subscribed */
    public List<String> channels() {
        return channels.names();
    }

    /** Executes a command of a connection of its own. */
    public RespValue call(String... words) {
        Session session = connect("", push -> {
        });
        tracking.onCommandStart(session.subscriber);
        RespValue reply = execute(session, List.of(words));
        tracking.onCommandEnd(false);
        return reply;
    }

    private RespValue execute(Session session, List<String> words) {
        String command = words.get(0).toUpperCase(Locale.ROOT);
        String script = command.equals("EVALSHA")
                ? ScriptNames.ofSha(words.get(1))
                : command.equals("EVAL") ? ScriptNames.ofSha(ScriptNames.shaOf(latin(words.get(1)))) : null;
        RespValue answer = answers.get(words.size() == 2 ? command + " " + words.get(1) : command);
        if (answer != null) {
            return answer;
        }
        String error = takeError(words, command, script);
        if (error != null) {
            return error(error);
        }
        String mode = session.isResp3 ? null : channels.refusalInResp2(session.subscriber, command);
        if (mode != null) {
            return error(mode);
        }
        if (command.equals("HELLO")) {
            return hello(session, words);
        }
        if (command.equals("AUTH")) {
            return auth(session, words);
        }
        if (password != null && !session.isIn) {
            return error("NOAUTH Authentication required.");
        }
        if (command.equals("EVALSHA") && words.get(2).equals("0") && scripts.contains(words.get(1))) {
            return probeOfRights();
        }
        if (isProbe(words)) {
            commandCounts.merge("probe", 1, Integer::sum);
        }
        if (command.equals("ASKING")) {
            commandCounts.merge("ASKING", 1, Integer::sum);
            session.isAsking = true;
            return OK;
        }
        boolean isAsking = session.isAsking;
        session.isAsking = false;
        List<String> keysOfCommand = member == null ? List.of() : keysOf(command, words);
        String refusal = keysOfCommand.isEmpty() ? null : member.refusal(keysOfCommand, isAsking);
        if (refusal != null) {
            commandCounts.merge(refusal.substring(0, refusal.indexOf(' ')), isProbe(words) ? 0 : 1, Integer::sum);
            return error(refusal);
        }
        if (isKeyForbidden(command, words)) {
            return error("NOPERM No permissions to access a key");
        }
        if (isWriteRefused(command, script, words)) {
            return writeError();
        }
        return run(session, command, script, words);
    }

    /** Whether the server refuses a command because it writes. */
    private boolean isWriteRefused(String command, String script, List<String> words) {
        if (!isRefusingWrites()) {
            return false;
        }
        return switch (command) {
            case "SET", "MSETEX", "ZADD" -> true;
            case "PEXPIRE", "DELEX", "DELIFEQ", "DEL", "FLUSHALL", "ZREM" -> !isOutOfMemory();
            // Without keys it probes the rights of the user, and without a script it is not known.
            case "EVALSHA" -> !words.get(2).equals("0") && scripts.contains(words.get(1)) && isScriptRefused(script);
            case "EVAL" -> !words.get(2).equals("0") && (script == null || isScriptRefused(script));
            default -> false;
        };
    }

    /** The first write of a script gets the error. Those with a queue do something before they write. */
    private boolean isScriptRefused(String script) {
        return script != null && !isOfQueue(script)
                && (!isOutOfMemory() || script.startsWith("acquire") || script.startsWith("raise"));
    }

    private static boolean isOfQueue(String script) {
        return script.endsWith(QUEUE_ENDING) || script.equals("leave_queue");
    }

    private RespValue run(Session session, String command, String script, List<String> words) {
        return switch (command) {
            case "PING" -> RespValue.text(RespType.SIMPLE_STRING, "PONG");
            case "CLIENT" -> clientCommand(words);
            case "CLUSTER", "CONFIG" -> {
                if (words.subList(1, words.size() - 1).equals(List.of("SET", "min-replicas-to-write"))) {
                    refuseWrites(words.get(3).equals("0") ? null : "NOREPLICAS Not enough good replicas to write.");
                    yield OK;
                }
                commandCounts.merge(command + " " + words.get(1), 1, Integer::sum);
                RespValue reply = member == null
                        ? command.equals("CONFIG") ? config() : FakeCluster.noCluster()
                        : member.execute(words);
                yield reply == null ? error("ERR unknown subcommand '" + words.get(1) + "'") : reply;
            }
            case "INFO" -> {
                String section = words.size() == 1 ? "server" : words.get(1);
                commandCounts.merge("INFO " + section, 1, Integer::sum);
                yield info(session, section);
            }
            case "TIME" -> RespValue.array(RespValue.bulk(Long.toString(wallUs() / US_PER_S)),
                    RespValue.bulk(Long.toString(wallUs() % US_PER_S)));
            case "SCRIPT" -> scriptCommand(words);
            case "EVALSHA" -> evalSha(session, script, words);
            case "EVAL" -> eval(session, script, words);
            case "GET" -> {
                commandCounts.merge(words.get(1).endsWith(TRACE_NAME) ? "GET trace" : "GET", 1, Integer::sum);
                yield isNoString(words.get(1)) ? error(WRONG_TYPE) : bulkOrNull(session, read(words.get(1)));
            }
            case "SET" -> set(session, words);
            case "PEXPIRE" -> {
                commandCounts.merge("PEXPIRE trace", 1, Integer::sum);
                yield RespValue.integer(touchTrace(words.get(1), Long.parseLong(words.get(2))));
            }
            case "DELEX", "DELIFEQ" -> conditionalDelete(session, command, words);
            case "MSETEX" -> setAll(session, words);
            case "SUBSCRIBE", "UNSUBSCRIBE" -> {
                commandCounts.merge(command, 1, Integer::sum);
                yield command.equals("SUBSCRIBE")
                        ? channels.subscribe(session.subscriber, words.get(1), session.isResp3)
                        : channels.unsubscribe(session.subscriber, words.get(1), session.isResp3);
            }
            case "PUBLISH" -> {
                commandCounts.merge("PUBLISH", 1, Integer::sum);
                yield RespValue.integer(publish(words.get(1), words.get(2)));
            }
            case "DEL" -> RespValue.integer(delete(words.get(1)) ? 1 : 0);
            case "PTTL" -> {
                commandCounts.merge("PTTL", 1, Integer::sum);
                read(words.get(1));
                yield RespValue.integer(pttl(words.get(1)));
            }
            case "ZCARD", "ZRANK", "ZSCORE", "ZADD", "ZREM", "ZRANGE" -> sortedSet(session, words);
            case "TYPE" -> {
                commandCounts.merge("TYPE", 1, Integer::sum);
                yield RespValue.text(RespType.SIMPLE_STRING, typeOf(find(words.get(1))));
            }
            case "FLUSHALL" -> {
                flushAll();
                yield OK;
            }
            default -> error("ERR unknown command '" + words.get(0) + "'");
        };
    }

    private RespValue sortedSet(Session session, List<String> words) {
        commandCounts.merge(words.get(0), 1, Integer::sum);
        read(words.get(1));
        Map<String, Long> entries = entries(words.get(1));
        if (entries == null) {
            return error(WRONG_TYPE);
        }
        RespValue reply = FakeQueue.command(this, words, entries);
        return reply == null ? bulkOrNull(session, null) : reply;
    }

    /** The keys of a command that the server knows; a server redirects it before it checks the other arguments. */
    private List<String> keysOf(String command, List<String> words) {
        return switch (command) {
            case "GET", "SET", "DEL", "PTTL", "PEXPIRE", "TYPE", "ZCARD", "ZRANK", "ZSCORE", "ZADD", "ZREM", "ZRANGE" ->
                List.of(words.get(1));
            case "DELEX", "DELIFEQ" -> command.equals(kind.conditionalDelete) ? List.of(words.get(1)) : List.of();
            case "MSETEX" -> kind.hasMsetex ? keysOfSet(words) : List.of();
            case "EVALSHA", "EVAL" -> words.subList(3, 3 + Integer.parseInt(words.get(2)));
            default -> List.of();
        };
    }

    private RespValue config() {
        return RespValue.array(RespValue.bulk("min-replicas-to-write"), RespValue.bulk(Integer.toString(minReplicas)),
                RespValue.bulk("min-replicas-max-lag"), RespValue.bulk(Integer.toString(maxLagSeconds)));
    }

    private RespValue clientCommand(List<String> words) {
        String subcommand = words.get(1).toUpperCase(Locale.ROOT);
        if (subcommand.startsWith("SET")) {
            // Names and other details of the connection.
            return OK;
        }
        commandCounts.merge("CLIENT " + subcommand, 1, Integer::sum);
        if (!isResp3Known) {
            return error("ERR Unknown subcommand or wrong number of arguments for '" + words.get(1)
                    + "'. Try CLIENT HELP");
        }
        return subcommand.equals("TRACKING") ? tracking.tracking(words) : tracking.caching(words);
    }

    /** A conditional command with which a client probes the server. */
    private static boolean isProbe(List<String> words) {
        if (words.size() == 7 && words.get(0).equals("MSETEX") && words.get(2).endsWith(SET_PROBE_NAME)
                || words.size() == 6 && words.get(0).equals("SET") && words.get(1).endsWith(SET_PROBE_NAME)) {
            return true;
        }
        return words.size() > 2 && words.get(1).endsWith(PROBE_NAME)
                && (words.get(2).equals(PROBE_NAME) || words.get(words.size() - 1).equals(PROBE_NAME));
    }

    /** A server checks the name of a command before the permissions. */
    private boolean isKeyForbidden(String command, List<String> words) {
        return switch (command) {
            case "SET", "GET", "DEL", "PTTL", "PEXPIRE", "TYPE", "ZCARD", "ZRANK", "ZSCORE", "ZADD", "ZREM", "ZRANGE" ->
                !words.get(1).startsWith(permittedPrefix);
            case "DELEX", "DELIFEQ" ->
                command.equals(kind.conditionalDelete) && !words.get(1).startsWith(permittedPrefix);
            case "MSETEX" -> kind.hasMsetex
                    && keysOfSet(words).stream().anyMatch(key -> !key.startsWith(permittedPrefix));
            case "EVALSHA", "EVAL" -> !words.get(3).startsWith(permittedPrefix);
            default -> false;
        };
    }

    /** The script reads the clock, and then runs each command that the scripts of locks need. */
    private RespValue probeOfRights() {
        if (!hasEffectReplication) {
            return RespValue.array(RespValue.bulk("SET @user_script: 1: Write commands not allowed after non"
                    + " deterministic commands. Call redis.replicate_commands() at the start of your script."));
        }
        return RespValue.array(denied.entrySet()
                .stream()
                .map(entry -> RespValue.bulk(entry.getKey() + " " + entry.getValue()))
                .toArray(RespValue[]::new));
    }

    private String takeError(List<String> words, String command, String script) {
        for (InjectedError candidate : injected) {
            if (candidate.left[0] > 0 && (candidate.command.equals(command) || candidate.command.equals(script)
                    || candidate.command.equals(baseName(script))
                    || command.equals("MSETEX") && candidate.command.equals("acquire_set")
                    || command.equals("CLIENT") && candidate.command.equalsIgnoreCase("CLIENT " + words.get(1)))) {
                candidate.left[0]--;
                return candidate.error;
            }
        }
        return null;
    }

    private static RespValue error(String text) {
        return RespValue.text(RespType.SIMPLE_ERROR, text);
    }

    private static byte[] latin(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    private static RespValue bulkOrNull(Session session, String text) {
        if (text == null) {
            return RespValue.nullOf(session.isResp3 ? RespType.NULL : RespType.BULK_STRING);
        }
        return RespValue.bytes(RespType.BULK_STRING, latin(text));
    }

    private RespValue hello(Session session, List<String> words) {
        if (!isResp3Known) {
            return error("ERR unknown command `HELLO`, with args beginning with: `3`,");
        }
        int auth = words.indexOf("AUTH");
        if (auth > 0) {
            session.isIn = words.get(auth + 1).equals(user) && words.get(auth + 2).equals(password);
            if (!session.isIn) {
                return error("WRONGPASS invalid username-password pair or user is disabled.");
            }
        } else if (password != null) {
            return error("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH"
                    + " <user> <pass> option can be used to authenticate the client");
        }
        session.isResp3 = true;
        return RespValue.aggregate(RespType.MAP, List.of(RespValue.bulk("server"), RespValue.bulk("redis"),
                RespValue.bulk("proto"), RespValue.integer(3), RespValue.bulk("role"), RespValue.bulk(role)));
    }

    /** A connection that fails to authenticate again keeps its user. */
    private RespValue auth(Session session, List<String> words) {
        commandCounts.merge("AUTH", 1, Integer::sum);
        String givenUser = words.size() > 2 ? words.get(1) : "default";
        boolean isRight = givenUser.equals(user) && words.get(words.size() - 1).equals(password);
        session.isIn |= isRight;
        return isRight ? OK : error("WRONGPASS invalid username-password pair or user is disabled.");
    }

    private RespValue info(Session session, String section) {
        String text = switch (section) {
            // The uptime is the difference of two rounded clocks, as in Redis.
            case "server" -> "# Server\r\nredis_version:7.0.15\r\n" + valkeyVersion() + modeField + "\r\nrun_id:"
                    + runId + "\r\nuptime_in_seconds:" + (wallUs() / US_PER_S - startSeconds) + "\r\n";
            case "memory" -> "# Memory\r\nused_memory:1000000\r\nmaxmemory:" + maxMemory
                    + "\r\nmaxmemory_policy:" + evictionPolicy + "\r\n";
            case "keyspace" -> "# Keyspace\r\n"
                    + (keys.isEmpty() ? "" : "db0:keys=" + keys.size() + ",expires=0,avg_ttl=0\r\n");
            default -> "# Replication\r\nrole:" + (member == null ? role : member.role())
                    + "\r\nconnected_slaves:" + replicaCount + "\r\n"
                    + (minReplicas > 0 ? "min_slaves_good_slaves:" + replicaCount + "\r\n" : "")
                    + (member == null
                            ? "master_replid:" + replicationId + "\r\nmaster_replid2:" + secondReplicationId + "\r\n"
                            : member.replication());
        };
        return session.isResp3 ? RespValue.verbatim("txt", latin(text)) : RespValue.bulk(text);
    }

    private String valkeyVersion() {
        return switch (claimedKind == null ? kind : claimedKind) {
            case VALKEY_8_1 -> "server_name:valkey\r\nvalkey_version:8.1.3\r\n";
            case VALKEY_9 -> "server_name:valkey\r\nvalkey_version:9.0.0\r\n";
            default -> "";
        };
    }

    private RespValue scriptCommand(List<String> words) {
        commandCounts.merge("SCRIPT " + words.get(1), 1, Integer::sum);
        if (words.get(1).equalsIgnoreCase("FLUSH")) {
            scripts.clear();
            return OK;
        }
        String sha = ScriptNames.shaOf(latin(words.get(2)));
        scripts.add(sha);
        return RespValue.bulk(sha);
    }

    private RespValue evalSha(Session session, String script, List<String> words) {
        if (!scripts.contains(words.get(1))) {
            return error("NOSCRIPT No matching script. Please use EVAL.");
        }
        return run(session, script, words);
    }

    private RespValue inspect(String key) {
        String type = typeOf(find(key));
        long ttlMs = find(key) == null ? -2 : pttl(key);
        byte[] value = type.equals("string") ? latin(find(key)) : new byte[0];
        return RespValue.array(RespValue.bulk(type), RespValue.integer(ttlMs),
                RespValue.bytes(RespType.BULK_STRING, value.length > 128 ? new byte[0] : value));
    }

    private RespValue breakLock(List<String> keys, String value) {
        String key = keys.get(0);
        if (isNoString(key) || find(key) == null || !HexFormat.of().formatHex(latin(find(key))).equals(value)) {
            return RespValue.integer(0);
        }
        delete(key);
        if (keys.size() > 1) {
            touchTrace(keys.get(1), 60_000);
        }
        return RespValue.integer(1);
    }

    int touchTrace(String key, long ttlMs) {
        String value = find(key);
        if (value == null) {
            return 0;
        }
        Map<String, Long> entries = entries(key);
        if (keys.get(key).entries == null) {
            set(key, value, ttlMs);
        } else {
            setEntries(key, entries, wallMs() + ttlMs);
        }
        return 1;
    }

    private RespValue eval(Session session, String script, List<String> words) {
        scripts.add(ScriptNames.shaOf(latin(words.get(1))));
        return run(session, script, words);
    }

    private RespValue run(Session session, String script, List<String> words) {
        if (script == null) {
            return error("ERR this server runs the scripts of its own version of redlock, and no others");
        }
        int keyCount = Integer.parseInt(words.get(2));
        if (kind.isEveryScriptKeyRegistered()) {
            tracking.onScriptStart(words.subList(3, 3 + keyCount));
        }
        commandCounts.merge(script, 1, Integer::sum);
        if (script.equals("inspect") || script.equals("break")) {
            List<String> keys = words.subList(3, 3 + keyCount);
            return script.equals("inspect") ? inspect(keys.get(0)) : breakLock(keys, words.get(3 + keyCount));
        }
        if (isOfQueue(script)) {
            return runInOrder(session, script, words);
        }
        if (script.startsWith("release_many")) {
            return releaseMany(session, words.subList(3, 3 + keyCount), words.subList(3 + keyCount, words.size()),
                    script.equals("release_many_fenced"));
        }
        if (script.equals("extend_many")) {
            return extendMany(session, words.subList(3, 3 + keyCount), words.subList(3 + keyCount, words.size()));
        }
        String token = words.get(3 + keyCount);
        if (script.equals("find_permit")) {
            long honest = findPermit(words.subList(3, 3 + keyCount), token, Integer.parseInt(words.get(4 + keyCount)));
            return RespValue.integer(searchReply.applyAsLong(honest));
        }
        if (script.equals("shorten")) {
            long shortened = shorten(words.subList(3, 3 + keyCount), token, Long.parseLong(words.get(4 + keyCount)));
            stepListener.onExecuted(script, words.subList(3, 3 + keyCount), token, shortened);
            return RespValue.integer(shortened);
        }
        if (script.endsWith(SET_SUFFIX)) {
            FakeSet set = new FakeSet(this, words.subList(3, 3 + keyCount), script.contains("fenced")
                    || script.startsWith("raise"), words.subList(4 + keyCount, words.size()));
            String command = script.substring(0, script.length() - SET_SUFFIX.length());
            long setReply = set.run(command, token);
            // As PTTL, which is no command of the token.
            return command.equals("remaining_ttl")
                    ? RespValue.integer(setReply)
                    : note(session, command, set.keys(), token, setReply);
        }
        if (script.endsWith("_read") || script.endsWith("_write")) {
            FakeReadWrite lock = new FakeReadWrite(this, words.subList(3, 3 + keyCount),
                    words.subList(4 + keyCount, words.size()));
            return note(session, script.substring(0, script.lastIndexOf('_')), words.get(3), token,
                    lock.run(script, token));
        }
        String key = words.get(3);
        if (!script.startsWith("acquire") && isNoString(key)) {
            return error(WRONG_TYPE);
        }
        String argument = words.size() > 4 + keyCount ? words.get(4 + keyCount) : "0";
        long reply = switch (script) {
            case "acquire" -> acquire(key, token, Long.parseLong(argument));
            case "check" -> token.equals(read(key)) ? 1 : 0;
            case "release" -> release(key, token);
            case "acquire_fenced" -> acquireFenced(key, words.get(4), token, Long.parseLong(argument),
                    Long.parseLong(words.get(7)), Long.parseLong(words.get(8)));
            case "raise" -> raise(key, words.get(4), token, Long.parseLong(argument), Long.parseLong(words.get(7)));
            case "release_fenced" -> releaseFenced(key, words.get(4), token, Long.parseLong(argument),
                    Long.parseLong(words.get(7)));
            case "extend" -> extend(key, token, Long.parseLong(argument));
            default -> throw new IllegalStateException("the model does not know script " + script);
        };
        RespValue noted = note(session, script, key, token, reply);
        boolean isCounterRead = script.equals("release_fenced") || script.equals("raise") && token.equals(read(key));
        return isCounterRead && isNoString(words.get(4)) ? error(WRONG_TYPE) : noted;
    }

    private long shorten(List<String> keys, String token, long ttlMs) {
        long ours = keys.stream().filter(key -> token.equals(read(key))).peek(key -> {
            if (pttl(key) < 0 || pttl(key) > ttlMs) {
                set(key, token, ttlMs);
            }
        }).count();
        return ours == keys.size() ? 1 : 0;
    }

    /** The acquire that a script does, in order or not. */
    private static String baseName(String script) {
        return script == null ? null : script.replace(QUEUE_ENDING, "");
    }

    private RespValue runInOrder(Session session, String script, List<String> words) {
        if (script.equals("leave_queue")) {
            return RespValue.integer(new FakeQueue(this, words.get(3), words.get(5), words.get(6)).leave());
        }
        boolean isFenced = script.startsWith("acquire_fenced");
        String verb = baseName(script);
        commandCounts.merge(verb, 1, Integer::sum);
        String key = words.get(3);
        List<String> arguments = words.subList(isFenced ? 5 : 4, words.size());
        String token = arguments.get(0);
        long ttlMs = Long.parseLong(arguments.get(1));
        String mode = arguments.get(isFenced ? 6 : 5);
        FakeQueue queue = new FakeQueue(this, key, isFenced ? words.get(4) : arguments.get(2),
                arguments.get(isFenced ? 4 : 3));
        long waitedUs = Long.parseLong(arguments.get(isFenced ? 5 : 4));
        if (queue.isPreceded(mode) || isFenced && read(key) != null) {
            // 0 if the lock is free, and there is no order.
            long refusal = queue.refusal(mode, waitedUs, Math.max(0, -refusal(key)));
            if (refusal < 0) {
                return note(session, verb, key, token, refusal);
            }
        }
        if (!queue.mayWrite(true)) {
            return writeError();
        }
        long reply = isFenced
                ? acquireFenced(key, words.get(4), token, ttlMs, Long.parseLong(arguments.get(2)),
                        Long.parseLong(arguments.get(3)))
                : acquire(key, token, ttlMs);
        if (reply > 0) {
            boolean isAwaited = queue.onGrant();
            RespValue noted = note(session, verb, key, token, reply);
            return isAwaited && !isFenced ? RespValue.integer(2) : noted;
        }
        if (!isFenced) {
            reply = queue.refusal(mode, waitedUs, -reply);
        }
        return note(session, verb, key, token, reply);
    }

    private RespValue releaseMany(Session session, List<String> keys, List<String> arguments,
            boolean isFenced) {
        int length = isFenced ? keys.size() / 2 : keys.size();
        List<RespValue> replies = new ArrayList<>();
        long released = 0;
        for (int i = 0; i < length; i++) {
            String key = keys.get(i);
            String token = arguments.get(i);
            long reply = isFenced
                    ? releaseFenced(key, keys.get(length + i), token, Long.parseLong(arguments.get(length + i)),
                            Long.parseLong(arguments.get(2 * length)))
                    : release(key, token);
            replies.add(note(session, isFenced ? "release_fenced" : "release", key, token, reply));
            released += reply;
        }
        if (!isFenced && released == length) {
            return RespValue.integer(released);
        }
        return RespValue.array(replies.toArray(RespValue[]::new));
    }

    private RespValue extendMany(Session session, List<String> keys, List<String> arguments) {
        List<RespValue> replies = new ArrayList<>();
        for (int i = 0; i < keys.size(); i++) {
            String key = keys.get(i);
            String token = arguments.get(i);
            String error = isNoString(key) ? WRONG_TYPE : takeError(List.of(), "extend " + key, null);
            replies.add(error == null
                    ? note(session, "extend", key, token,
                            extend(key, token, Long.parseLong(arguments.get(keys.size() + i))))
                    : error(error));
        }
        return RespValue.array(replies.toArray(RespValue[]::new));
    }

    private long findPermit(List<String> permits, String token, int wanted) {
        int low = token.charAt(18) * 256 + token.charAt(19);
        long shortestMs = COUNTER_MAX;
        long reply = 0;
        int left = wanted;
        int sinceFirst = 0;
        for (int i = 1; i <= permits.size() && (reply == 0 || left > 0 && sinceFirst < 40); i++) {
            int number = (low + i) % permits.size();
            sinceFirst += reply == 0 ? 0 : 1;
            if (read(permits.get(number)) == null) {
                reply += reply == 0 ? number + 1 : 512L << sinceFirst - 1;
                left--;
                continue;
            }
            long leftMs = pttl(permits.get(number));
            shortestMs = leftMs < 0 ? shortestMs : Math.min(shortestMs, leftMs);
        }
        return reply > 0 ? reply : -shortestMs;
    }

    private RespValue note(Session session, String verb, List<String> keys, String token, long reply) {
        stepListener.onExecuted(verb, keys, token, reply);
        RespValue answer = null;
        for (String key : keys) {
            answer = noteKey(session, verb, key, token, reply);
        }
        return answer;
    }

    private RespValue note(Session session, String verb, String key, String token, long reply) {
        stepListener.onExecuted(verb, List.of(key), token, reply);
        return noteKey(session, verb, key, token, reply);
    }

    private RespValue noteKey(Session session, String verb, String key, String token, long reply) {
        if (isLogging) {
            log.add(verb + " " + key + " -> " + reply);
        }
        listener.onExecuted(session.client, verb + " " + key + " " + token, Long.toString(reply));
        if (reply == COUNTER_IS_TEXT) {
            return error("ERR value is not an integer or out of range");
        }
        return reply == COUNTER_ENDED
                ? error("FENCE the counter is not a count, or it has reached its end")
                : RespValue.integer(reply);
    }

    // ---- conditional commands ---------------------------------------------------------------------------------------

    /** {@code DELEX key IFEQ token} or {@code DELIFEQ key token}. */
    private RespValue conditionalDelete(Session session, String command, List<String> words) {
        if (!command.equals(kind.conditionalDelete)) {
            return error("ERR unknown command '" + command + "'");
        }
        boolean isRedis = command.equals("DELEX");
        if (words.size() != (isRedis ? 4 : 3) || isRedis && !words.get(2).equals("IFEQ")) {
            return error("ERR syntax error");
        }
        if (isNoString(words.get(1))) {
            return error(WRONG_TYPE);
        }
        String token = words.get(words.size() - 1);
        if (isProbe(words)) {
            return RespValue.integer(deleteIfEqual(words.get(1), token));
        }
        commandCounts.merge(command, 1, Integer::sum);
        return note(session, "release", words.get(1), token, deleteIfEqual(words.get(1), token));
    }

    private static List<String> keysOfSet(List<String> words) {
        List<String> found = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(words.get(1)); i++) {
            found.add(words.get(2 + 2 * i));
        }
        return found;
    }

    /** {@code MSETEX K key1 token1 ... keyK tokenK NX PX ttl}, or the probe with XX. */
    private RespValue setAll(Session session, List<String> words) {
        if (!kind.hasMsetex) {
            return error("ERR unknown command 'MSETEX'");
        }
        List<String> all = keysOfSet(words);
        int options = 2 + 2 * all.size();
        boolean isNx = words.get(options).equals("NX");
        if (words.size() != options + 3 || !isNx && !words.get(options).equals("XX")
                || !words.get(options + 1).equals("PX")) {
            return error("ERR syntax error");
        }
        long existing = all.stream().filter(key -> find(key) != null).count();
        boolean isSet = existing == (isNx ? 0 : all.size());
        List<String> tokens = IntStream.range(0, all.size()).mapToObj(i -> words.get(3 + 2 * i)).toList();
        for (int i = 0; isSet && i < all.size(); i++) {
            set(all.get(i), tokens.get(i), Long.parseLong(words.get(options + 2)));
        }
        if (isProbe(words)) {
            return RespValue.integer(isSet ? 1 : 0);
        }
        commandCounts.merge("MSETEX", 1, Integer::sum);
        if (tokens.stream().distinct().count() == 1) {
            return note(session, "acquire", all, tokens.get(0), isSet ? 1 : 0);
        }
        // First attempts of one turn. If they are refused, each is sent again: nothing was executed.
        for (int i = 0; isSet && i < all.size(); i++) {
            note(session, "acquire", all.get(i), tokens.get(i), 1);
        }
        return RespValue.integer(isSet ? 1 : 0);
    }

    /** {@code SET key token IFEQ token PX ttl}. */
    private RespValue setIfEqual(Session session, List<String> words) {
        if (isEachSetOptionTaken) {
            set(words.get(1), words.get(2), Long.parseLong(words.get(6)));
            return OK;
        }
        if (!kind.setOption.equals("IFEQ") || words.size() != 7 || !words.get(5).equals("PX")) {
            return error("ERR syntax error");
        }
        if (isProbe(words) && find(words.get(1)) == null) {
            return bulkOrNull(session, null);
        }
        commandCounts.merge("SET IFEQ", 1, Integer::sum);
        if (isNoString(words.get(1))) {
            return error(WRONG_TYPE);
        }
        boolean isOurs = words.get(4).equals(find(words.get(1)));
        if (isOurs) {
            // It replaces the expiry, also with an earlier one.
            onExtension(words.get(1));
            set(words.get(1), words.get(2), Long.parseLong(words.get(6)));
        }
        note(session, "extend", words.get(1), words.get(2), isOurs ? 1 : 0);
        return isOurs ? OK : bulkOrNull(session, null);
    }

    private RespValue set(Session session, List<String> words) {
        if (words.size() > 3 && words.get(3).equals("IFEQ")) {
            return setIfEqual(session, words);
        }
        RespValue reply = plainSet(session, words);
        if (words.size() == 6 && words.get(2).length() >= 20 && !reply.isError()) {
            commandCounts.merge(words.get(1).endsWith(MARK_NAME) ? "SET mark" : "SET NX", 1, Integer::sum);
            note(session, "acquire", words.get(1), words.get(2), reply.isNull() ? 0 : 1);
        } else if (words.get(1).endsWith(TRACE_NAME)) {
            commandCounts.merge("SET trace", 1, Integer::sum);
        } else if (words.size() == 3) {
            commandCounts.merge("SET", 1, Integer::sum);
        }
        return reply;
    }

    private long acquire(String key, String token, long ttlMs) {
        if (find(key) == null) {
            set(key, token, ttlMs);
            return 1;
        }
        return refusal(key);
    }

    long refusal(String key) {
        read(key);
        long left = pttl(key);
        return left == -1 ? -9_007_199_254_740_991L : -left;
    }

    long acquireFenced(String key, String counter, String token, long ttlMs, long counterTtlMs, long floor) {
        if (read(key) != null) {
            return refusal(key);
        }
        if (find(counter) != null) {
            if (!get(counter).matches("-?[0-9]{1,18}")) {
                return COUNTER_IS_TEXT;
            }
            if (countOf(counter) < 0 || countOf(counter) >= COUNTER_MAX) {
                // Counted, and counted back.
                tracking.onChanged(counter);
                return COUNTER_ENDED;
            }
        }
        // 0 counts as missing.
        boolean isMissing = get(counter) == null || countOf(counter) == 0;
        long value = Math.max(floor, isMissing ? counterSeed() : countOf(counter) + 1);
        if (value > COUNTER_MAX) {
            delete(counter);
            return COUNTER_ENDED;
        }
        set(counter, Long.toString(value), counterTtlMs);
        set(key, token, ttlMs);
        return fenced(value);
    }

    long countOf(String counter) {
        return get(counter) == null ? 0 : Long.parseLong(get(counter));
    }

    /** Whether a counter is a number, or missing. */
    boolean isCount(String counter) {
        return get(counter) == null || get(counter).matches("-?[0-9]{1,18}");
    }

    /** Whether a release raises a counter to a value. */
    boolean isBelow(String counter, long value) {
        return read(counter) != null && isCount(counter) && countOf(counter) < value && value <= COUNTER_MAX;
    }

    private long raise(String key, String counter, String token, long value,
            long counterTtlMs) {
        if (!token.equals(read(key))) {
            return 0;
        }
        read(counter);
        if (!isCount(counter) || countOf(counter) > value || value > COUNTER_MAX) {
            return 0;
        }
        set(counter, Long.toString(value), counterTtlMs);
        return 1;
    }

    long releaseFenced(String key, String counter, String token, long highest,
            long counterTtlMs) {
        long reply = release(key, token);
        if (isBelow(counter, highest)) {
            set(counter, Long.toString(highest), counterTtlMs);
        }
        return reply;
    }

    private long release(String key, String token) {
        read(key);
        return deleteIfEqual(key, token);
    }

    long deleteIfEqual(String key, String token) {
        return token.equals(find(key)) && delete(key) ? 1 : 0;
    }

    private long extend(String key, String token, long ttlMs) {
        String holder = read(key);
        if (holder == null) {
            set(key, token, ttlMs);
            return 2;
        }
        if (!holder.equals(token)) {
            return 0;
        }
        renew(key, token, ttlMs);
        return 1;
    }

    void renew(String key, String token, long ttlMs) {
        if (mayShorten || pttl(key) < ttlMs) {
            onExtension(key);
            set(key, token, ttlMs);
        }
    }

    private RespValue plainSet(Session session, List<String> words) {
        boolean isOnlyIfAbsent = false;
        long ttlMs = -1;
        for (int i = 3; i < words.size(); i++) {
            switch (words.get(i).toUpperCase(Locale.ROOT)) {
                case "NX" -> isOnlyIfAbsent = true;
                case "XX" -> {
                    if (find(words.get(1)) == null) {
                        return bulkOrNull(session, null);
                    }
                }
                case "PX" -> ttlMs = Long.parseLong(words.get(++i));
                default -> {
                    return error("ERR syntax error");
                }
            }
        }
        if (isOnlyIfAbsent && find(words.get(1)) != null) {
            return bulkOrNull(session, null);
        }
        set(words.get(1), words.get(2), ttlMs);
        return OK;
    }

    @Override
    public String toString() {
        return name + " (" + runId + ", " + keys.size() + " keys)";
    }
}
