package dev.redlock.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.sim.FakeRedis;
import dev.redlock.sim.ScriptNames;
import dev.redlock.testing.RawConnection;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The client tracking of a server, as a client that waits for locks uses it: which reads register a connection, which
 * changes push an invalidation, and in which order. A subclass provides the server, which these tests empty.
 */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
public abstract class TrackingContract {

    private static final List<String> TRACKING_ON = words("CLIENT TRACKING ON OPTIN NOLOOP");
    private static final List<String> CACHING_YES = words("CLIENT CACHING YES");
    private static final List<String> HOLD = words("SET k holder PX 60000");
    private static final List<String> REGISTER = words("GET k");
    private static final List<String> CHANGE = words("SET k changed");
    private static final List<String> PUSHED = List.of("push invalidate [k]");
    private static final List<String> PUSHED_NULL = List.of("push invalidate null");
    private static final List<String> NOTHING = List.of();
    /** The ttl of a reader that has not expired when the next command follows it. */
    private static final long DYING_MS = 100;
    private static final String CACHING_WITHOUT_TRACKING = "ERR CLIENT CACHING can be called only when the client is in"
            + " tracking mode with OPTIN or OPTOUT mode enabled";

    private final List<RawConnection> connections = new ArrayList<>();
    private RawConnection tracker;
    private RawConnection other;

    /** @return the port of the server on loopback */
    protected abstract int port();

    /** {@code CONFIG SET tracking-table-max-keys}. */
    protected abstract void trackedKeysMax(int max);

    /** Sets whether the server deletes expired keys that nobody accesses. */
    protected abstract void activeExpiry(boolean isOn);

    /** Evicts all keys. */
    protected abstract void evictAll();

    /** @return whether a read of a script registers all keys of its command: before Redis 7.2 */
    protected abstract boolean isEveryScriptKeyRegistered();

    @BeforeEach
    void connect() {
        other = connection(3);
        other.run(words("FLUSHALL"));
        tracker = connection(3);
        tracker.run(TRACKING_ON);
    }

    @AfterEach
    void disconnect() {
        connections.forEach(RawConnection::close);
        trackedKeysMax(1_000_000);
        activeExpiry(true);
    }

    private RawConnection connection(int protocol) {
        RawConnection connection = new RawConnection(port());
        connections.add(connection);
        if (protocol == 3) {
            connection.run(words("HELLO 3"));
        }
        return connection;
    }

    private static List<String> words(String line) {
        return List.of(line.split(" "));
    }

    /** {@code EVAL} of a lock script, with the number of keys, the keys and the arguments. */
    private static List<String> script(String name, String rest) {
        List<String> all = new ArrayList<>(List.of("EVAL", ScriptNames.source(name)));
        all.addAll(words(rest));
        return all;
    }

    // ---- registration -----------------------------------------------------------------------------------------------

    /** A command after {@code CLIENT CACHING YES}, and whether it leaves the connection registered. */
    record Read(String name, boolean isHeld, List<String> command, boolean isRegistered) {
        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Read> reads() {
        return Stream.of(
                new Read("GET", true, words("GET k"), true),
                new Read("GET of a missing key", false, words("GET k"), true),
                new Read("PTTL", true, words("PTTL k"), true),
                new Read("a refused SET NX", true, words("SET k other NX PX 1000"), false),
                new Read("a granted SET NX", false, words("SET k other NX PX 1000"), false),
                new Read("a refused acquire script", true, script("acquire", "1 k other 1000"), true),
                new Read("a granted acquire script", false, script("acquire", "1 k other 1000"), false),
                new Read("a refused fenced acquire", true, script("acquire_fenced", "2 k c other 1000 60000 0"), true),
                new Read("a granted fenced acquire", false,
                        script("acquire_fenced", "2 k c other 1000 60000 0"), false),
                new Read("a refused extension", true, script("extend", "1 k other 90000"), true),
                new Read("a refused release", true, script("release", "1 k other"), true),
                new Read("a refused batch of releases", true, script("release_many", "2 k j other other"), true));
    }

    @ParameterizedTest
    @MethodSource("reads")
    void aReadAfterCachingRegisters(Read read) {
        if (read.isHeld) {
            other.run(HOLD);
        }
        tracker.run(CACHING_YES, read.command);
        other.run(CHANGE);
        assertEquals(read.isRegistered ? PUSHED : NOTHING, tracker.run());
        other.run(CHANGE);
        assertEquals(NOTHING, tracker.run(), "a push ends the registration");
    }

    @ParameterizedTest
    @MethodSource("reads")
    void aReadWithoutCachingRegistersNothing(Read read) {
        if (read.isHeld) {
            other.run(HOLD);
        }
        tracker.run(read.command);
        other.run(CHANGE);
        assertEquals(NOTHING, tracker.run());
    }

    /** The commands between {@code CLIENT CACHING YES} and the read, and whether the read still registers. */
    record Between(List<String> command, boolean isRegistered) {
        @Override
        public String toString() {
            return String.join(" ", command);
        }
    }

    static Stream<Between> between() {
        return Stream.of(
                new Between(words("GET j"), false),
                new Between(words("UNKNOWN"), false),
                new Between(words("EVALSHA 0123456789012345678901234567890123456789 1 k"), false),
                new Between(words("CLIENT SETNAME n"), true),
                new Between(CACHING_YES, true),
                new Between(words("CLIENT CACHING NO"), true),
                new Between(TRACKING_ON, true));
    }

    @ParameterizedTest
    @MethodSource("between")
    void cachingEndsWithTheNextCommandThatIsNotOfClient(Between between) {
        tracker.run(CACHING_YES, between.command, REGISTER);
        other.run(CHANGE);
        assertEquals(between.isRegistered ? PUSHED : NOTHING, tracker.run());
    }

    @Test
    void aScriptRegistersItsKeys() {
        other.run(HOLD);
        tracker.run(CACHING_YES, script("acquire_fenced", "2 k c other 1000 60000 0"));
        other.run(words("SET c 1"));
        assertEquals(isEveryScriptKeyRegistered() ? List.of("push invalidate [c]") : NOTHING, tracker.run());
    }

    /** The order of waiting sets is kept in a key that every attempt changes: it wakes nobody. */
    @Test
    void ticketsRegisterAndPushNothing() {
        other.run(HOLD);
        tracker.run(CACHING_YES, script("acquire_set", "1 k token-1 1000 ? 0"));
        other.run(script("acquire_set", "1 k token-2 1000 ? 0"),
                script("acquire_fenced_set", "2 k c token-3 1000 60000 0 ? 2"),
                words("DEL k:redlock:reservation:tickets"));
        assertEquals(NOTHING, tracker.run());
        other.run(CHANGE);
        assertEquals(PUSHED, tracker.run());
    }

    /** A client that retains the lock watches the queue: each refusal renews the expiry of its key. */
    @Test
    void theQueueIsPushedWithEachRefusal() {
        other.run(HOLD);
        for (List<String> change : List.of(script("acquire_in_order", "1 k token-2 1000 c m 0 f"),
                script("acquire_in_order", "1 k token-2 1000 c m 0 e"),
                script("acquire_fenced_in_order", "2 k c token-3 1000 60000 0 n 0 e"),
                script("leave_queue", "1 k token-3 c n"))) {
            tracker.run(CACHING_YES, words("ZCARD c:queue"));
            other.run(change);
            assertEquals(List.of("push invalidate [c:queue]"), tracker.run(), change::toString);
        }
        tracker.run(CACHING_YES, words("ZRANK c:queue m"));
        other.run(words("ZADD c:queue LT 9007199254740991 m"), words("ZREM c:queue n"),
                script("leave_queue", "1 k token-3 c n"));
        assertEquals(NOTHING, tracker.run(), "nothing has changed");
        assertEquals(List.of("0", "null", "1"),
                other.run(words("ZRANK c:queue m"), words("ZRANK c:queue n"), words("ZCARD c:queue")));
        other.run(words("ZREM c:queue m"));
        assertEquals(List.of("push invalidate [c:queue]"), tracker.run());
    }

    @Test
    void eachConnectionThatIsRegisteredGetsOnePush() {
        RawConnection second = connection(3);
        second.run(TRACKING_ON, CACHING_YES, REGISTER, CACHING_YES, REGISTER);
        tracker.run(CACHING_YES, REGISTER);
        other.run(CHANGE);
        assertEquals(PUSHED, tracker.run());
        assertEquals(PUSHED, second.run());
    }

    @Test
    void registrationsEndWithTheirConnection() {
        tracker.run(CACHING_YES, REGISTER);
        tracker.close();
        RawConnection next = connection(3);
        next.run(TRACKING_ON);
        other.run(CHANGE);
        assertEquals(NOTHING, next.run());
    }

    @Test
    void registrationsAreSilentWhileTrackingIsOff() {
        tracker.run(CACHING_YES, REGISTER, words("CLIENT TRACKING OFF"));
        other.run(CHANGE);
        assertEquals(NOTHING, tracker.run());
        tracker.run(TRACKING_ON, CACHING_YES, REGISTER, words("CLIENT TRACKING OFF"), TRACKING_ON);
        other.run(CHANGE);
        assertEquals(PUSHED, tracker.run());
    }

    // ---- changes ----------------------------------------------------------------------------------------------------

    /** A command of another connection, and the pushes to a connection that is registered for k. */
    record Change(String name, List<String> command, List<String> pushed) {
        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Change> changes() {
        return Stream.of(
                new Change("DEL", words("DEL k"), PUSHED),
                new Change("DEL of another key", words("DEL j"), NOTHING),
                new Change("SET", words("SET k x"), PUSHED),
                new Change("refused SET NX", words("SET k x NX PX 1000"), NOTHING),
                new Change("GET", words("GET k"), NOTHING),
                new Change("release", script("release", "1 k holder"), PUSHED),
                new Change("refused release", script("release", "1 k other"), NOTHING),
                new Change("batch of releases", script("release_many", "2 j k other holder"), PUSHED),
                new Change("fenced release", script("release_fenced", "2 k c holder 1 60000"), PUSHED),
                new Change("extension", script("extend", "1 k holder 90000"), PUSHED),
                new Change("extension to an earlier end", script("extend", "1 k holder 1000"), NOTHING),
                new Change("refused extension", script("extend", "1 k other 90000"), NOTHING),
                new Change("refused acquire", script("acquire", "1 k other 1000"), NOTHING),
                new Change("refused fenced acquire", script("acquire_fenced", "2 k c other 1000 60000 0"), NOTHING),
                new Change("DELEX", words("DELEX k IFEQ holder"), PUSHED),
                new Change("refused DELEX", words("DELEX k IFEQ other"), NOTHING),
                new Change("DELIFEQ", words("DELIFEQ k holder"), PUSHED),
                new Change("refused DELIFEQ", words("DELIFEQ k other"), NOTHING),
                new Change("SET IFEQ", words("SET k holder IFEQ holder PX 90000"), PUSHED),
                new Change("SET IFEQ to an earlier end", words("SET k holder IFEQ holder PX 1000"), PUSHED),
                new Change("refused SET IFEQ", words("SET k other IFEQ other PX 90000"), NOTHING),
                new Change("FLUSHALL", words("FLUSHALL"), PUSHED_NULL),
                new Change("SCRIPT FLUSH", words("SCRIPT FLUSH"), NOTHING));
    }

    /** The push for all keys comes before or after the reply to the own command, depending on the server. */
    static Stream<Change> ownChanges() {
        return changes().filter(change -> !change.pushed.equals(PUSHED_NULL));
    }

    /** Conditional deletes and SET IFEQ exist on newer servers only. */
    private static void assumeKnown(String reply) {
        boolean isUnknown = reply.startsWith("ERR unknown command") || reply.startsWith("ERR syntax error");
        Assumptions.assumeFalse(isUnknown, "the server does not have this command: " + reply);
    }

    @ParameterizedTest
    @MethodSource("changes")
    void aChangeByAnotherConnectionPushes(Change change) {
        other.run(HOLD);
        tracker.run(CACHING_YES, REGISTER);
        String reply = other.run(change.command).get(0);
        assumeKnown(reply);
        assertEquals(change.pushed, tracker.run());
        other.run(CHANGE);
        assertEquals(change.pushed.isEmpty() ? PUSHED : NOTHING, tracker.run(), "after that");
    }

    /** With NOLOOP the own change ends the registration silently, also within a script. */
    @ParameterizedTest
    @MethodSource("ownChanges")
    void aChangeByTheConnectionItselfIsSilent(Change change) {
        other.run(HOLD);
        List<String> values = tracker.run(CACHING_YES, REGISTER, change.command);
        assumeKnown(values.get(2));
        assertEquals(3, values.size(), values::toString);
        other.run(CHANGE);
        assertEquals(change.pushed.isEmpty() ? PUSHED : NOTHING, tracker.run(), "after that");
    }

    /**
     * A script for readers, writers or sets that the registered connection runs, its reply, and whether the connection
     * remains registered.
     *
     * @param before      what another connection has run
     * @param isCaching   after {@code CLIENT CACHING YES}
     * @param isTtlInReply the reply is the remaining ttl, negated
     */
    record OwnScript(String name, List<List<String>> before, boolean isCaching, List<String> own, long reply,
            boolean isTtlInReply, boolean isRegistered) {

        OwnScript(String name, List<List<String>> before, List<String> own, long reply, boolean isRegistered) {
            this(name, before, false, own, reply, false, isRegistered);
        }

        OwnScript(String name, List<List<String>> before, boolean isCaching, List<String> own, boolean isRegistered) {
            this(name, before, isCaching, own, 0, true, isRegistered);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<OwnScript> ownScripts() {
        List<String> reader = script("acquire_read", "1 k r 60000");
        List<String> dying = script("acquire_read", "1 k dying " + DYING_MS);
        List<String> reservation = script("acquire_write", "1 k w 60000 i");
        List<String> refused = script("acquire_read", "1 k other 1000");
        List<List<String>> three = List.of(reader, dying, reservation);
        List<List<String>> set = List.of(HOLD, words("SET j foreign"));
        return Stream.of(
                new OwnScript("grant to a reader", List.of(reader), refused, 1, false),
                new OwnScript("release of a reader", List.of(reader, dying), script("release_read", "1 k r"), 1, false),
                new OwnScript("release of an expired reader", List.of(reader, dying),
                        script("release_read", "1 k dying"), -1, false),
                new OwnScript("release of nobody", List.of(reader), script("release_read", "1 k other"), 0, true),
                new OwnScript("extension of a reader", List.of(reader), script("extend_read", "1 k r 90000"), 1, false),
                new OwnScript("refused extension of a reader", List.of(reader, reservation),
                        script("extend_read", "1 k other 90000"), 0, true),
                new OwnScript("refused reader", List.of(reader, reservation), false, refused, true),
                new OwnScript("refused reader that removes an expired one", three, false, refused, false),
                new OwnScript("the same that registers", three, true, refused, true),
                new OwnScript("reservation", List.of(reader), false, reservation, false),
                new OwnScript("reservation that registers", List.of(reader), true, reservation, true),
                new OwnScript("removal of a reservation", List.of(reader, reservation),
                        script("release_write", "1 k i"),
                        -1, false),
                new OwnScript("removal of no reservation", List.of(reader), script("release_write", "1 k i"), 0, true),
                new OwnScript("release of a part of a set", set, script("release_set", "2 k j holder"), -1, false),
                new OwnScript("fenced release of a part of a set", set,
                        script("release_fenced_set", "4 k j kc jc holder 1 60000"), -1, false),
                new OwnScript("release of no part of a set", set, script("release_set", "2 k j other"), 0, true));
    }

    /** The reply shows each change that ends a registration, except those by attempts that register again. */
    @ParameterizedTest
    @MethodSource("ownScripts")
    void theReplyOfAnOwnScriptShowsWhetherTheConnectionIsStillRegistered(OwnScript script) {
        runBefore(script);
        long laterUs = serverUs() + 1_000 * (DYING_MS + 2);
        while (serverUs() < laterUs) {
            Thread.onSpinWait();
        }
        tracker.run(CACHING_YES, words("PTTL k"));
        List<String> values = script.isCaching ? tracker.run(CACHING_YES, script.own) : tracker.run(script.own);
        assertEquals(script.isCaching ? 2 : 1, values.size(), values::toString);
        long reply = Long.parseLong(values.get(values.size() - 1));
        assertEquals(script.isTtlInReply ? Math.min(0, Math.max(-60_000, reply)) : script.reply, reply);
        other.run(CHANGE);
        assertEquals(script.isRegistered ? PUSHED : NOTHING, tracker.run());
    }

    /** Once more if a reader may have expired before the last command, which would have removed it. */
    private void runBefore(OwnScript script) {
        long beganUs;
        do {
            other.run(words("DEL k j"));
            beganUs = serverUs();
            script.before.forEach(other::run);
        } while (serverUs() - beganUs >= 1_000 * (DYING_MS - 1));
    }

    @Test
    void withoutNoLoopAnOwnChangeIsPushedAfterItsReply() {
        other.run(HOLD);
        RawConnection looping = connection(3);
        assertEquals(List.of("OK", "OK", "holder", "1", "push invalidate [k]", "null"),
                looping.run(words("CLIENT TRACKING ON OPTIN"), CACHING_YES, REGISTER, words("DEL k"), words("GET k")));
    }

    @Test
    void anEvictedKeyIsPushed() {
        other.run(HOLD);
        tracker.run(CACHING_YES, REGISTER);
        evictAll();
        assertEquals(PUSHED, tracker.run());
    }

    @Test
    void aFlushIsPushedToConnectionsWithoutARegistration() {
        other.run(words("FLUSHALL"));
        assertEquals(PUSHED_NULL, tracker.run());
    }

    // ---- expiry -----------------------------------------------------------------------------------------------------

    /** Registers for a key that is about to expire; on a slow machine for one that lives longer. */
    private long registerForExpiringKey() {
        for (long ttlMs = 20;; ttlMs *= 2) {
            other.run(words("SET k holder PX " + ttlMs));
            tracker.run();
            if (tracker.run(CACHING_YES, REGISTER).contains("holder")) {
                return ttlMs;
            }
        }
    }

    /** Waits on the server's clock, without an access to the key. */
    private void registerForExpiredKey() {
        long ttlMs = registerForExpiringKey();
        long endUs = serverUs() + (ttlMs + 2) * 1000;
        while (serverUs() < endUs) {
            Thread.onSpinWait();
        }
    }

    private long serverUs() {
        String[] time = other.run(words("TIME")).get(0).replaceAll("[^0-9 ]", "").split(" ");
        return Long.parseLong(time[0]) * 1_000_000 + Long.parseLong(time[1]);
    }

    @Test
    void anExpiredKeyIsPushedWhenTheServerFindsIt() {
        registerForExpiringKey();
        assertEquals(FakeRedis.invalidation("k"), tracker.next());
    }

    @ParameterizedTest
    @MethodSource("accesses")
    void anExpiredKeyIsPushedAtAnAccess(Read access) {
        activeExpiry(false);
        registerForExpiredKey();
        assertEquals(NOTHING, tracker.run(), "nobody has accessed it");
        other.run(access.command);
        assertEquals(PUSHED, tracker.run());
    }

    @ParameterizedTest
    @MethodSource("accesses")
    void anAccessOfTheConnectionItselfExpiresTheKeySilently(Read access) {
        activeExpiry(false);
        registerForExpiredKey();
        assertEquals(1, tracker.run(access.command).size(), "a reply, but no push");
        other.run(CHANGE);
        assertEquals(NOTHING, tracker.run());
    }

    static Stream<Read> accesses() {
        return reads().filter(read -> !read.name.contains("batch") && !read.name.contains("refused"))
                .filter(read -> !read.isHeld || read.command.size() == 2);
    }

    // ---- limits, order and bytes ------------------------------------------------------------------------------------

    @Test
    void aFullTablePushesKeysToOtherConnections() {
        tracker.run(CACHING_YES, words("GET a"), CACHING_YES, words("GET b"));
        trackedKeysMax(1);
        other.run();
        List<String> dropped = tracker.run();
        assertTrue(List.of(List.of("push invalidate [a]"), List.of("push invalidate [b]")).contains(dropped),
                dropped::toString);
        other.run(words("SET a 1"), words("SET b 1"));
        assertEquals(1, tracker.run().size(), "the other registration is still there");
    }

    /** A server that drops keys during a command of the same connection sends no push with NOLOOP. */
    @Test
    void aFullTableDropsKeysOfTheConnectionItselfSilently() {
        trackedKeysMax(1);
        assertEquals(List.of("OK", "null", "OK", "null", "OK", "null"),
                tracker.run(CACHING_YES, words("GET a"), CACHING_YES, words("GET b"), CACHING_YES, words("GET c")));
        other.run(words("SET a 1"), words("SET b 1"), words("SET c 1"));
        assertEquals(1, tracker.run().size(), "one registration is left");
    }

    @Test
    void aPushPrecedesRepliesToLaterCommands() {
        other.run(HOLD);
        tracker.run(CACHING_YES, REGISTER);
        other.run(words("DEL k"));
        assertEquals(List.of("push invalidate [k]", "null", "1"),
                tracker.run(words("GET k"), script("acquire", "1 k other 1000")));
    }

    @Test
    void oneBatchOfReleasesPushesEachKey() {
        other.run(words("SET a 1"), words("SET b 1"));
        tracker.run(CACHING_YES, words("GET a"), CACHING_YES, words("GET b"));
        other.run(script("release_many", "2 b a 1 1"));
        assertEquals(List.of("push invalidate [b]", "push invalidate [a]"), tracker.run());
    }

    @Test
    void aPushHoldsTheBytesOfTheKey() {
        String key = "\u00ff\u0000 k\r\n";
        tracker.run(CACHING_YES, List.of("GET", key));
        other.run(List.of("SET", key, "1"));
        assertEquals(FakeRedis.invalidation(key), tracker.next());
        other.run(words("FLUSHALL"));
        assertEquals(FakeRedis.invalidation(null), tracker.next());
    }

    // ---- channels ---------------------------------------------------------------------------------------------------

    private static final List<String> SUBSCRIBE = words("SUBSCRIBE c");
    private static final String SUBSCRIBED = "push subscribe c 1";

    @Test
    void aSubscriptionIsAnsweredByAPushBetweenOtherReplies() {
        assertEquals(List.of("null", SUBSCRIBED, "0"), tracker.run(REGISTER, SUBSCRIBE, words("DEL k")));
    }

    @Test
    void aSubscribedConnectionRunsOtherCommandsAndIsPushedInvalidations() {
        assertEquals(List.of(SUBSCRIBED, "OK", "null"), tracker.run(SUBSCRIBE, CACHING_YES, REGISTER));
        other.run(CHANGE);
        assertEquals(List.of("1"), other.run(words("PUBLISH c x")));
        assertEquals(List.of("push invalidate [k]", "push message c x", "changed"), tracker.run(REGISTER));
    }

    @Test
    void aSecondSubscriptionOfAConnectionChangesNothing() {
        assertEquals(List.of(SUBSCRIBED, SUBSCRIBED), tracker.run(SUBSCRIBE, SUBSCRIBE));
        assertEquals(List.of("1"), other.run(words("PUBLISH c x")));
        assertEquals(List.of("push message c x"), tracker.run());
    }

    @Test
    void aMessageReachesAllSubscribersOfItsChannel() {
        RawConnection second = connection(3);
        assertEquals(List.of(SUBSCRIBED), second.run(SUBSCRIBE));
        tracker.run(SUBSCRIBE);
        assertEquals(List.of("2", "0"), other.run(words("PUBLISH c x"), words("PUBLISH nobody x")));
        assertEquals(List.of("push message c x"), tracker.run());
        assertEquals(List.of("push message c x"), second.run());
    }

    @Test
    void aMessageHoldsTheBytesOfItsPayload() {
        tracker.run(SUBSCRIBE);
        String payload = "h\u00ff\u0000 k\r\n";
        assertEquals(List.of("1", "1"), other.run(List.of("PUBLISH", "c", payload), List.of("PUBLISH", "c", "")));
        assertEquals(List.of("push message c " + payload, "push message c "), tracker.run());
    }

    @Test
    void aClosedConnectionGetsNoMessage() {
        RawConnection second = connection(3);
        second.run(SUBSCRIBE);
        assertEquals(List.of("1"), other.run(words("PUBLISH c x")));
        second.close();
        long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (!other.run(words("PUBLISH c x")).equals(List.of("0"))) {
            assertTrue(System.nanoTime() < endNs, "the server has not seen the end of the connection");
        }
    }

    @Test
    void anUnsubscribedConnectionGetsNoMessage() {
        assertEquals(List.of(SUBSCRIBED, "push unsubscribe c 0"), tracker.run(SUBSCRIBE, words("UNSUBSCRIBE c")));
        assertEquals(List.of("0"), other.run(words("PUBLISH c x")));
        assertEquals(NOTHING, tracker.run());
    }

    /** Redis 7.2 and later send the message after the reply. */
    @Test
    void aMessageToThePublisherItselfArrivesOnce() {
        tracker.run(SUBSCRIBE);
        List<String> received = tracker.run(words("PUBLISH c x"));
        assertEquals(isEveryScriptKeyRegistered()
                ? List.of("push message c x", "1")
                : List.of("1", "push message c x"), received);
    }

    @Test
    void aConnectionInResp2RejectsMostCommandsUntilItUnsubscribes() {
        RawConnection resp2 = connection(2);
        resp2.send(List.of(SUBSCRIBE, REGISTER, words("UNSUBSCRIBE c"), REGISTER));
        assertEquals("subscribe", resp2.next().elements().get(0).asText());
        assertTrue(resp2.next().asText().startsWith("ERR Can't execute 'get': only"));
        assertEquals("unsubscribe", resp2.next().elements().get(0).asText());
        assertTrue(resp2.next().isNull());
    }

    // ---- replies ----------------------------------------------------------------------------------------------------

    @Test
    void wrongWordsAreErrors() {
        RawConnection connection = connection(3);
        assertEquals(List.of(CACHING_WITHOUT_TRACKING, CACHING_WITHOUT_TRACKING, "ERR syntax error", "ERR syntax error",
                "OK"),
                connection.run(CACHING_YES, words("CLIENT CACHING PERHAPS"), words("CLIENT TRACKING PERHAPS"),
                        words("CLIENT TRACKING ON PERHAPS"), words("CLIENT TRACKING OFF")));
        assertEquals(List.of("OK", "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode."),
                connection.run(words("CLIENT TRACKING ON"), CACHING_YES));
        assertEquals(List.of("OK", "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.",
                "ERR syntax error", "OK"),
                connection.run(words("client tracking on optin noloop"), words("CLIENT CACHING NO"),
                        words("CLIENT CACHING PERHAPS"), words("client caching yes")));
    }

    @Test
    void aResp2ConnectionGetsTheSameRepliesButNoPushes() {
        RawConnection resp2 = connection(2);
        assertEquals(List.of("OK", "OK", "null"), resp2.run(TRACKING_ON, CACHING_YES, REGISTER));
        other.run(CHANGE, words("FLUSHALL"));
        assertEquals(NOTHING, resp2.run());
    }
}
