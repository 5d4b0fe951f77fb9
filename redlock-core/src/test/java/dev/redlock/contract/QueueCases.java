package dev.redlock.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.contract.ScriptContract.Bench;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The cases of the scripts with a queue. Clients have names of one letter, and tokens of the same name. A client is
 * live if a connection has subscribed to its channel.
 */
final class QueueCases {

    private static final String CHANNEL = "redlock:wake:";
    private static final String QUEUE = "c:queue";
    private static final String NOTE = "c:silent";
    private static final String SLOW = "c:slow:a";
    private static final String LEAVE = "leave_queue";
    private static final long MINUTE_MS = 60_000;
    private static final long TTL_MAX = (1L << 32) - 1;
    private static final int UNKNOWN = (1 << 20) - 2;
    /** A note is no reason to drop the head before 40 ms. */
    private static final long EARLY_MS = 15;
    private static final long LATE_MS = 41;

    private final Bench bench;
    private final String script;

    private QueueCases(Bench bench, String script) {
        this.bench = bench;
        this.script = script;
    }

    static void acquire(Bench bench, String script) {
        QueueCases cases = new QueueCases(bench, script);
        cases.clientsWaitInTheirOrder();
        cases.grantsWakeTheNextTwo();
        cases.aTurnThatIsNotOverPassesTheOthers();
        cases.entriesWithoutAConnectionAreDropped();
        cases.checksWakeTheHead();
        cases.silentHeadsAreDropped();
        cases.headsThatComeBackGetMoreTime();
        cases.headsThatEnterAreNotSilent();
        cases.checksPassEntriesWithoutAConnection();
        cases.refusalsHaveTheTtl();
        cases.entriesChangeTheTraces();
        cases.foreignKeysCostTheOrder();
        cases.serversThatRefuseWritesSayWhy();
    }

    static void leave(Bench bench) {
        QueueCases cases = new QueueCases(bench, "acquire_in_order");
        cases.leavesOfOthers();
        cases.leavesBesideAHeldLock();
        cases.leavesBesideAFreeLock();
        cases.leavesThatTheServerRefuses();
    }

    // ---- scripts ----------------------------------------------------------------------------------------------------

    private boolean isFenced() {
        return script.contains("fenced");
    }

    private long enter(String client, long waitedUs, String mode) {
        String arguments = isFenced() ? " 60000 90000 0 %s %d %s" : " 60000 c %s %d %s";
        return bench.number(script, isFenced() ? "k c" : "k", client + arguments.formatted(client, waitedUs, mode));
    }

    private void assertGranted(boolean isAwaited, String client, String mode) {
        long reply = enter(client, 0, mode);
        assertTrue(isFenced() ? reply > 2 : reply == (isAwaited ? 2 : 1), () -> client + ": " + reply);
        bench.assertKey("k", client + " 60000");
    }

    private void assertPlace(int place, long ttlMs, String client, long waitedUs, String mode) {
        long reply = -enter(client, waitedUs, mode);
        long leftMs = reply >> 20;
        assertEquals(place + 1, reply & (1 << 20) - 1, () -> "place of " + client);
        assertTrue(leftMs <= ttlMs && leftMs >= ttlMs - Math.min(ttlMs, MINUTE_MS / 6),
                () -> client + ": " + leftMs + " ms");
    }

    private void assertPlace(int place, long ttlMs, String client, String mode) {
        assertPlace(place, ttlMs, client, 0, mode);
    }

    private void assertLeft(String client) {
        bench.assertReply("1", LEAVE, "k", client + " c " + client);
    }

    // ---- keys and messages ------------------------------------------------------------------------------------------

    /** A server with a key of the lock, or none, and a queue. */
    private void with(String lock, String... members) {
        bench.with(Stream.of(lock).filter(key -> !key.isEmpty()).toArray(String[]::new));
        for (int i = 0; i < members.length; i++) {
            bench.server.call("ZADD", QUEUE, Integer.toString(1_000 + i), members[i]);
        }
    }

    private void live(String... clients) {
        bench.server.subscribe(Arrays.stream(clients).map(client -> CHANNEL + client).toList());
    }

    /** Each as the client, the word, and the lock. */
    private void assertMessages(String... expected) {
        assertEquals(Arrays.stream(expected).map(message -> CHANNEL + message).toList(), bench.server.messages());
    }

    private void assertQueue(String... members) {
        assertEquals(String.join(" ", members), Bench.text(bench.server.call("ZRANGE", QUEUE, "0", "-1")));
    }

    private void assertNoted(String client) {
        String note = bench.key(NOTE);
        assertTrue(note.matches(client + " [0-9]+ 10000"), note);
    }

    // ---- acquire ----------------------------------------------------------------------------------------------------

    private void clientsWaitInTheirOrder() {
        live("a", "b", "d");
        with("k other 60000");
        assertPlace(0, MINUTE_MS, "a", 0, "f");
        bench.assertKey(QUEUE, "WRONGTYPE 60000");
        bench.pass(2);
        assertPlace(1, MINUTE_MS, "b", 0, "f");
        assertPlace(0, MINUTE_MS, "d", 5_000_000, "f");
        assertQueue("d", "a", "b");
        long startUs = bench.second() * 1_000_000;
        long score = Long.parseLong(bench.server.call("ZSCORE", QUEUE, "d").asText()) + 5_000_000;
        assertTrue(score > startUs - 2_000_000 && score < startUs + 2_000_000, () -> score + " at " + startUs);
        // An entry that is there keeps the lesser score; one of another wait gets the new one.
        assertPlace(1, MINUTE_MS, "a", 0, "e");
        assertPlace(1, MINUTE_MS, "a", 0, "c");
        bench.pass(2);
        assertPlace(2, MINUTE_MS, "a", 0, "f");
        assertPlace(0, MINUTE_MS, "a", 9_000_000, "e");
        assertQueue("a", "d", "b");
        assertPlace(0, MINUTE_MS, "b", 12_000_000, "c");
        assertMessages();
        bench.assertKey("k", "other 60000");
        // The expiry is renewed with each refusal.
        with("k other 60000", "a", "b");
        bench.server.call("PEXPIRE", QUEUE, "20000");
        assertPlace(1, MINUTE_MS, "b", "e");
        bench.assertKey(QUEUE, "WRONGTYPE 60000");
    }

    private void grantsWakeTheNextTwo() {
        live("a", "b", "d", "e");
        with("", "a", "b", "d", "e");
        assertPlace(1, 0, "b", "e");
        bench.assertKey("k", "nothing");
        assertMessages();
        assertGranted(true, "a", "e");
        assertMessages("b hk", "d dk");
        assertQueue("b", "d", "e");
        bench.server.call("DEL", "k");
        assertGranted(true, "b", "c");
        assertMessages("d hk", "e dk");
        bench.server.call("DEL", "k");
        assertGranted(true, "d", "f");
        assertMessages("e hk");
        bench.server.call("DEL", "k");
        assertGranted(false, "e", "e");
        assertMessages();
        assertQueue();
        bench.server.call("DEL", "k");
        assertGranted(false, "g", "f");
        assertQueue();
        assertPlace(0, MINUTE_MS, "g", "f");
        with("", "a", "b");
        live("b");
        assertGranted(true, "a", "f");
        assertMessages("b hk");
    }

    /** It wakes nobody: the head is registered already. */
    private void aTurnThatIsNotOverPassesTheOthers() {
        with("", "a", "b");
        live("a", "b", "h");
        assertGranted(true, "g", "p");
        assertMessages();
        assertQueue("a", "b");
        assertPlace(2, MINUTE_MS, "h", "p");
        assertQueue("a", "b", "h");
        bench.server.call("DEL", "k");
        assertGranted(true, "a", "p");
        assertMessages("b hk", "h dk");
        assertQueue("b", "h");
    }

    private void entriesWithoutAConnectionAreDropped() {
        for (int dead = 1; dead <= 30; dead += dead < 12 ? 1 : 9) {
            List<String> gone = IntStream.range(0, dead).mapToObj(i -> "x" + i).toList();
            with("", Stream.of(Stream.of("a"), gone.stream(), Stream.of("b", "d", "e"))
                    .flatMap(all -> all)
                    .toArray(String[]::new));
            live("b", "d");
            assertGranted(true, "a", "e");
            assertMessages("b hk", "d dk");
            assertQueue("b", "d", "e");
            with("", Stream.of(Stream.of("a", "b"), gone.stream(), Stream.of("d"))
                    .flatMap(all -> all)
                    .toArray(String[]::new));
            assertGranted(true, "a", "e");
            assertMessages("b hk", "d dk");
            assertQueue("b", "d");
        }
        with("", "a", "x", "y");
        assertGranted(false, "a", "e");
        assertQueue();
        // A script drops some 50 entries at most.
        with("", IntStream.range(0, 61).mapToObj(i -> i == 0 ? "a" : "x" + i).toArray(String[]::new));
        assertGranted(false, "a", "e");
        assertEquals(15, bench.server.call("ZCARD", QUEUE).asLong());
    }

    private void checksWakeTheHead() {
        live("a", "b", "d");
        with("", "a", "b", "d");
        assertPlace(2, 0, "d", "c");
        assertMessages("a Hk", "b Dk");
        assertNoted("a");
        assertPlace(1, 0, "b", "c");
        assertMessages("a Hk");
        assertPlace(3, 0, "e", "c");
        assertMessages("a Hk", "b Dk");
        bench.assertKey("k", "nothing");
        with("", "a");
        assertPlace(1, 0, "b", "c");
        assertMessages("a Hk");
        assertNoted("a");
        with("k other 60000", "a", "b");
        assertPlace(1, MINUTE_MS, "b", "c");
        bench.pass(LATE_MS);
        assertPlace(1, MINUTE_MS, "b", "c");
        assertMessages();
        bench.assertKey(NOTE, "nothing");
        with("", "a", "b");
        assertPlace(1, 0, "b", "e");
        assertPlace(1, 0, "b", "f");
        assertMessages();
        bench.assertKey(NOTE, "nothing");
    }

    private void silentHeadsAreDropped() {
        live("a", "b", "d");
        with("", "a", "b", "d");
        assertPlace(2, 0, "d", "c");
        bench.pass(EARLY_MS);
        assertPlace(2, 0, "d", "c");
        assertQueue("a", "b", "d");
        assertMessages("a Hk", "b Dk", "a Hk", "b Dk");
        bench.pass(LATE_MS - EARLY_MS);
        assertPlace(1, 0, "d", "c");
        assertQueue("b", "d");
        assertMessages("b Hk");
        assertNoted("b");
        bench.pass(EARLY_MS);
        assertPlace(1, 0, "d", "c");
        assertQueue("b", "d");
        assertMessages("b Hk");
        bench.pass(LATE_MS - EARLY_MS);
        assertGranted(false, "d", "c");
        assertQueue();
        assertMessages();
        with("", "a", "b", "d");
        assertPlace(1, 0, "b", "c");
        bench.pass(LATE_MS);
        assertGranted(true, "b", "c");
        assertQueue("d");
        assertMessages("a Hk", "d Dk", "d hk");
    }

    private void headsThatComeBackGetMoreTime() {
        live("a", "b");
        for (String mode : List.of("e", "c", "f")) {
            with("", "b");
            assertPlace(1, 0, "a", mode);
            bench.assertKey(SLOW, mode.equals("f") ? "nothing" : "1 60000");
        }
        with("k other 60000", "b");
        assertPlace(1, MINUTE_MS, "a", "p");
        bench.assertKey(SLOW, "nothing");
        with("k other 60000", "a", "b");
        assertPlace(0, MINUTE_MS, "a", "e");
        assertPlace(0, MINUTE_MS, "a", "c");
        bench.assertKey(SLOW, "nothing");
        with("c:slow:a 0 60000", "b");
        assertPlace(1, 0, "a", "e");
        bench.assertKey(SLOW, "0 60000");
        with("c:slow:a 1 60000", "a", "b");
        noteHead(350);
        assertPlace(1, 0, "b", "c");
        assertQueue("a", "b");
        bench.assertKey(SLOW, "1 60000");
        with("c:slow:a 1 30000", "a", "b");
        noteHead(410);
        assertGranted(false, "b", "c");
        bench.assertKey(SLOW, "0 10000");
        bench.assertKey(NOTE, "nothing");
        with("c:slow:a 0 30000", "a", "b");
        noteHead(350);
        assertGranted(false, "b", "c");
        bench.assertKey(SLOW, "0 30000");
        with("c:slow:b 1 60000", "a", "b");
        noteHead(410);
        assertGranted(false, "b", "c");
        bench.assertKey(SLOW, "nothing");
    }

    private void noteHead(long ageMs) {
        bench.server.call("SET", NOTE, "a 1000", "PX", Long.toString(10_000 - ageMs));
    }

    private void headsThatEnterAreNotSilent() {
        live("a", "b");
        with("", "a", "b");
        assertPlace(1, 0, "b", "c");
        assertMessages("a Hk");
        bench.server.call("SET", "k", "other", "PX", "60000");
        assertPlace(1, MINUTE_MS, "b", "e");
        assertNoted("a");
        assertPlace(0, MINUTE_MS, "a", "e");
        bench.assertKey(NOTE, "nothing");
        bench.server.call("DEL", "k");
        bench.pass(LATE_MS);
        assertPlace(1, 0, "b", "c");
        assertMessages("a Hk");
        // Nor is one that was granted the lock, and waits again.
        assertGranted(true, "a", "e");
        assertMessages("b hk");
        long longUs = (bench.second() + 1_000) * 1_000_000;
        assertPlace(0, MINUTE_MS, "a", longUs, "f");
        bench.server.call("DEL", "k");
        bench.pass(LATE_MS);
        assertPlace(1, 0, "b", "c");
        assertMessages("a Hk");
        assertQueue("a", "b");
        bench.pass(LATE_MS);
        assertGranted(false, "b", "c");
    }

    private void checksPassEntriesWithoutAConnection() {
        live("a", "b");
        with("", "x", "y", "a", "b");
        assertPlace(3, 0, "b", "e");
        assertPlace(1, 0, "b", "c");
        assertMessages("a Hk");
        assertNoted("a");
        assertQueue("a", "b");
        with("", "x", "b");
        assertGranted(false, "b", "c");
        bench.assertKey(NOTE, "nothing");
        with("", "x", "b", "a");
        assertGranted(true, "b", "c");
        assertMessages("a Dk", "a hk");
        with("", "x", "y");
        assertGranted(false, "b", "c");
        assertQueue();
        // One without a channel is no client without a connection.
        with("", "!x", "!y", "b");
        assertPlace(2, 0, "b", "c");
        assertQueue("!x", "!y", "b");
        assertNoted("!x");
        bench.pass(LATE_MS);
        assertPlace(1, 0, "b", "c");
        assertQueue("!y", "b");
        bench.pass(LATE_MS);
        assertGranted(false, "b", "c");
        with("", IntStream.range(0, 31).mapToObj(i -> i == 30 ? "b" : "x" + i).toArray(String[]::new));
        assertGranted(false, "b", "c");
    }

    private void refusalsHaveTheTtl() {
        live();
        for (String key : List.of("k other", "k other 5000000000", "k other 4294968000")) {
            with(key);
            assertEquals((TTL_MAX << 20) + 1, -enter("a", 0, "f"));
        }
        with("k other 4294960000");
        assertPlace(0, 4_294_960_000L, "a", "f");
        with("", "b");
        assertPlace(1, 0, "a", "f");
        with("", "b");
        bench.server.call("SET", "k", "other");
        assertEquals((TTL_MAX << 20) + 2, -enter("a", 0, "f"));
        bench.assertKey("k", "other");
    }

    /** The node pushes that to a client that retains the lock. */
    private void entriesChangeTheTraces() {
        live();
        bench.with("k other 60000", "c:trace token 20000");
        assertPlace(0, MINUTE_MS, "a", "f");
        bench.assertKey("c:trace", "token 60000");
        bench.server.call("PEXPIRE", "c:trace", "20000");
        assertPlace(0, MINUTE_MS, "a", "c");
        bench.assertKey("c:trace", "token 60000");
        bench.with("c:trace token 20000");
        assertGranted(false, "a", "f");
        bench.assertKey("c:trace", "token 20000");
    }

    private void foreignKeysCostTheOrder() {
        live("a", "b");
        with("c:queue text");
        assertGranted(false, "a", "f");
        assertPlace(UNKNOWN, MINUTE_MS, "b", "f");
        assertPlace(UNKNOWN, MINUTE_MS, "b", "c");
        bench.assertKey(QUEUE, "text");
        with("c:silent a", "a", "b");
        assertPlace(1, 0, "b", "c");
        assertNoted("a");
        with("", "a", "b");
        bench.assertReply("1", "acquire_read", NOTE, "r 60000");
        assertPlace(1, 0, "b", "c");
        assertMessages("a Hk", "a Hk");
        bench.pass(LATE_MS);
        assertGranted(false, "b", "c");
        if (isFenced()) {
            with("c text", "a", "b");
            bench.assertReply("ERR", script, "k c", "a 60000 90000 0 a 0 e");
            assertQueue("a", "b");
            bench.assertKey("k", "nothing");
            with("c 41", "a", "b");
            bench.assertReply("42", script, "k c", "a 60000 90000 0 a 0 e");
        }
    }

    /** A refusal for the order would be that of a node that can grant. */
    private void serversThatRefuseWritesSayWhy() {
        String keys = isFenced() ? "k c" : "k";
        String arguments = isFenced() ? " 60000 90000 0 b 0 " : " 60000 c b 0 ";
        for (String mode : List.of("f", "e", "c", "p")) {
            live("a", "b");
            with("", "a", "b");
            whileWritesAreRefused(() -> bench.assertReply("ERR", script, keys, "b" + arguments + mode));
            assertMessages(mode.equals("c") ? new String[]{"a Hk"} : new String[0]);
            assertQueue("a", "b");
            bench.assertKey("k", "nothing");
            bench.assertKey("c", "nothing");
            bench.assertKey(NOTE, "nothing");
        }
        with("k other 60000", "a", "b");
        whileWritesAreRefused(() -> {
            assertPlace(UNKNOWN, MINUTE_MS, "b", "e");
            assertPlace(UNKNOWN, MINUTE_MS, "d", "f");
        });
        assertQueue("a", "b");
        bench.assertKey("k", "other 60000");
    }

    /** It has no replica, and needs one. */
    private void whileWritesAreRefused(Runnable cases) {
        bench.server.call("CONFIG", "SET", "min-replicas-to-write", "1");
        try {
            cases.run();
        } finally {
            bench.server.call("CONFIG", "SET", "min-replicas-to-write", "0");
        }
    }

    // ---- leave ------------------------------------------------------------------------------------------------------

    private void leavesOfOthers() {
        live("a", "b", "d", "e");
        with("", "a", "b", "d", "e");
        bench.assertReply("0", LEAVE, "k", "g c g");
        assertLeft("d");
        assertMessages();
        assertQueue("a", "b", "e");
        bench.assertReply("0", LEAVE, "k", "d c d");
        with("c:queue text");
        bench.assertReply("0", LEAVE, "k", "a c a");
        bench.assertKey(QUEUE, "text");
        with("", "a");
        assertLeft("a");
        assertQueue();
        String[] many = IntStream.range(0, 14).mapToObj(i -> "x" + (char) ('a' + i)).toArray(String[]::new);
        with("", many);
        assertLeft("xm");
        assertQueue(Arrays.stream(many).filter(name -> !name.equals("xm")).toArray(String[]::new));
    }

    private void leavesThatTheServerRefuses() {
        live("a", "b", "d", "e");
        with("k other 60000", "a", "b", "d", "e");
        whileWritesAreRefused(() -> {
            for (String client : List.of("a", "b", "e", "g")) {
                bench.assertReply("0", LEAVE, "k", client + " c " + client);
            }
        });
        assertMessages("b hk", "d hk");
        assertQueue("a", "b", "d", "e");
        with("", "a", "b", "d");
        whileWritesAreRefused(() -> bench.assertReply("0", LEAVE, "k", "b c b"));
        assertMessages("d Hk");
        // Clients without a connection are passed, up to nine of them.
        for (int dead = 1; dead <= 10; dead++) {
            String gone = IntStream.range(0, dead).mapToObj(i -> "x" + i).collect(Collectors.joining(" "));
            with("k other 60000", ("a " + gone + " d e").split(" "));
            whileWritesAreRefused(() -> bench.assertReply("0", LEAVE, "k", "a c a"));
            assertMessages(dead < 10 ? new String[]{"d hk"} : new String[0]);
        }
    }

    private void leavesBesideAHeldLock() {
        live("a", "b", "d", "e");
        with("k other 60000", "a", "b", "d", "e");
        assertLeft("a");
        assertMessages("b hk", "d dk");
        assertLeft("d");
        assertMessages("e dk");
        assertQueue("b", "e");
        assertLeft("e");
        assertMessages();
        with("k other 60000", "a", "x", "y", "b", "d");
        assertLeft("a");
        assertMessages("b hk", "d dk");
        assertQueue("b", "d");
        with("k other 60000", "a", "b", "x", "d");
        assertLeft("b");
        assertMessages("d dk");
        assertQueue("a", "d");
        bench.assertKey(NOTE, "nothing");
        bench.assertKey("k", "other 60000");
        String gone = IntStream.range(0, 20).mapToObj(i -> "x" + i).collect(Collectors.joining(" "));
        with("k other 60000", ("a " + gone + " b d").split(" "));
        assertLeft("a");
        assertMessages("b hk", "d dk");
        assertQueue("b", "d");
        with("k other 60000", IntStream.range(0, 61).mapToObj(i -> i == 0 ? "a" : "x" + i).toArray(String[]::new));
        assertLeft("a");
        assertEquals(15, bench.server.call("ZCARD", QUEUE).asLong());
    }

    private void leavesBesideAFreeLock() {
        live("a", "b", "d", "e");
        with("", "a", "b", "d");
        assertLeft("a");
        assertMessages("b Hk", "d Dk");
        bench.assertKey(NOTE, "nothing");
        with("", "a", "b", "d", "e");
        assertLeft("b");
        assertMessages("a Hk", "d Dk");
        assertQueue("a", "d", "e");
        assertNoted("a");
        bench.pass(EARLY_MS);
        assertLeft("d");
        assertMessages("a Hk", "e Dk");
        bench.pass(LATE_MS - EARLY_MS);
        assertLeft("e");
        assertMessages();
        assertQueue();
        with("", "a", "b", "d", "e");
        assertLeft("b");
        bench.pass(LATE_MS);
        assertLeft("d");
        assertMessages("a Hk", "d Dk", "e Hk");
        assertQueue("e");
        with("", "a", "b");
        assertLeft("b");
        assertNoted("a");
        bench.assertKey("k", "nothing");
        assertMessages("a Hk");
        with("c:slow:a 1 30000", "a", "b", "d");
        noteHead(350);
        assertLeft("b");
        assertQueue("a", "d");
        assertMessages("a Hk", "d Dk");
        with("c:slow:a 1 30000", "a", "b");
        noteHead(410);
        assertLeft("b");
        assertQueue();
        bench.assertKey(SLOW, "0 10000");
        bench.assertKey(NOTE, "nothing");
        // A head without a channel could not be woken: a note of it would be wrong later.
        with("", "!a", "b", "d");
        assertLeft("b");
        assertMessages("d Dk");
        assertQueue("!a", "d");
        bench.assertKey(NOTE, "nothing");
        with("", "a", "!b", "d", "e");
        assertLeft("d");
        assertMessages();
        assertLeft("a");
        assertMessages("e Dk");
        assertQueue("!b", "e");
    }
}
