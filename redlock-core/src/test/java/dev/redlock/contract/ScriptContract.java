package dev.redlock.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import dev.redlock.sim.ScriptNames;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * What each lock script does, in the words of its head comment. The cases run on the model and on real servers, and
 * must find each mutant of {@code script-mutants.txt} on both.
 */
public final class ScriptContract {

    /** The greatest number that is exact in Lua, and the reply to an attempt for a key that never expires. */
    private static final long EXACT_MAX = 9_007_199_254_740_991L;
    private static final String NEVER = Long.toString(-EXACT_MAX);
    /** The second key of a set never expires. */
    private static final String SET_NEVER = Long.toString(-((EXACT_MAX >> 22 << 22) + 2 * 32));
    private static final long MINUTE_MS = 60_000;
    private static final long RESERVATION_MS = 300;

    /** The cases of each script. */
    private static final Map<String, Consumer<Bench>> CASES = new TreeMap<>();

    static {
        CASES.put("acquire", ScriptContract::acquire);
        CASES.put("acquire_fenced", bench -> {
            acquireFenced(bench);
            countedGrant(bench, "acquire_fenced", "k c", "a 60000 90000 0");
        });
        CASES.put("acquire_in_order", bench -> QueueCases.acquire(bench, "acquire_in_order"));
        CASES.put("acquire_fenced_in_order", bench -> {
            QueueCases.acquire(bench, "acquire_fenced_in_order");
            countedGrant(bench, "acquire_fenced_in_order", "k c", "a 60000 90000 0 m 0 f");
        });
        CASES.put("leave_queue", QueueCases::leave);
        CASES.put("acquire_set", bench -> {
            acquireSet(bench, "acquire_set");
            ticketsOfSet(bench, "acquire_set");
        });
        CASES.put("acquire_fenced_set", bench -> {
            acquireSet(bench, "acquire_fenced_set");
            ticketsOfSet(bench, "acquire_fenced_set");
            fencedSet(bench);
            countedGrant(bench, "acquire_fenced_set", "k c", "a 60000 90000 0 -");
        });
        CASES.put("acquire_read", ScriptContract::acquireRead);
        CASES.put("acquire_write", bench -> acquireWrite(bench, "acquire_write"));
        CASES.put("acquire_fenced_write", bench -> {
            acquireWrite(bench, "acquire_fenced_write");
            countedGrant(bench, "acquire_fenced_write", "k c", "a 60000 90000 0 -");
        });
        CASES.put("break", ScriptContract::breakLock);
        CASES.put("check", ScriptContract::check);
        CASES.put("check_read", ScriptContract::checkRead);
        CASES.put("check_set", ScriptContract::checkSet);
        CASES.put("extend", ScriptContract::extend);
        CASES.put("extend_many", ScriptContract::extendMany);
        CASES.put("extend_read", ScriptContract::extendRead);
        CASES.put("extend_set", ScriptContract::extendSet);
        CASES.put("find_permit", ScriptContract::findPermit);
        CASES.put("inspect", ScriptContract::inspect);
        CASES.put("raise", bench -> {
            raise(bench, "raise");
            bench.with("j a 60000");
            reader(bench, "r", MINUTE_MS);
            bench.assertReply("WRONGTYPE", "raise", "j k", "a 42 90000");
            bench.assertReply("WRONGTYPE", "raise", "k c", "r 42 90000");
        });
        CASES.put("raise_set", bench -> {
            raise(bench, "raise_set");
            raiseSet(bench);
        });
        CASES.put("release", ScriptContract::release);
        CASES.put("release_fenced", bench -> {
            releaseFenced(bench, "release_fenced");
            bench.with("j a 60000", "c 5");
            reader(bench, "r", MINUTE_MS);
            bench.assertReply("WRONGTYPE", "release_fenced", "k c", "r 9 90000");
            bench.assertKey("c", "5");
            bench.assertReply("WRONGTYPE", "release_fenced", "j k", "a 9 90000");
            bench.assertKey("j", "nothing");
        });
        CASES.put("release_fenced_set", bench -> {
            releaseFenced(bench, "release_fenced_set");
            releaseSet(bench, "release_fenced_set", "k1 k2 c1 c2", "a 7 90000");
            releaseFencedSet(bench);
        });
        CASES.put("release_fenced_write", bench -> releaseFenced(bench, "release_fenced_write"));
        CASES.put("release_many", ScriptContract::releaseMany);
        CASES.put("release_many_fenced", ScriptContract::releaseManyFenced);
        CASES.put("release_read", ScriptContract::releaseRead);
        CASES.put("release_set", bench -> releaseSet(bench, "release_set", "k1 k2", "a"));
        CASES.put("release_write", ScriptContract::releaseWrite);
        CASES.put("remaining_ttl_set", ScriptContract::remainingTtl);
        CASES.put("shorten", ScriptContract::shorten);
        CASES.put("shorten_read", ScriptContract::shortenRead);
    }

    private ScriptContract() {
    }

    /** The names of all scripts. */
    public static List<String> scripts() {
        return List.copyOf(CASES.keySet());
    }

    /** Runs the cases of a script. */
    public static void run(String script, Server server) {
        CASES.get(script).accept(new Bench(server));
    }

    /** A server of which the cases delete all keys. */
    public interface Server {

        /** The reply to a command. */
        RespValue call(String... words);

        /** Lets time pass. */
        void pass(long ms);

        /** Sets the clock that the scripts read, in seconds since the epoch, until the end of the case. */
        void clock(long second);

        /** Ends all subscriptions, and subscribes another connection to some channels. */
        void subscribe(List<String> channels);

        /** The messages since the subscription and the last call, each as {@code channel message}, in their order. */
        List<String> messages();

        /** The source of a script. */
        default String source(String script) {
            return ScriptNames.source(script);
        }
    }

    /** Runs scripts and looks at keys. */
    static final class Bench {
        private static final long ROUNDING_MS = 10_000;
        final Server server;

        Bench(Server server) {
            this.server = server;
        }

        /** An empty server with some keys, each as {@code name value ttl}, without a ttl for ever. */
        void with(String... keys) {
            server.call("FLUSHALL");
            for (String key : keys) {
                String[] words = key.split(" ");
                if (words.length > 2) {
                    server.call("SET", words[0], words[1], "PX", words[2]);
                } else {
                    server.call("SET", words[0], words[1]);
                }
            }
        }

        /** The reply to a script as text; {@code -} is an empty argument. */
        String run(String script, String keys, String arguments) {
            List<String> words = new ArrayList<>(List.of("EVAL", server.source(script)));
            words.add(Integer.toString(keys.split(" ").length));
            words.addAll(Arrays.asList(keys.split(" ")));
            Arrays.stream(arguments.split(" ")).map(word -> word.equals("-") ? "" : word).forEach(words::add);
            return text(server.call(words.toArray(String[]::new)));
        }

        long number(String script, String keys, String arguments) {
            String reply = run(script, keys, arguments);
            assertTrue(reply.matches("-?[0-9]+"), () -> script + ": " + reply);
            return Long.parseLong(reply);
        }

        static String text(RespValue reply) {
            if (reply.isError()) {
                String text = reply.asText();
                return text.contains("WRONGTYPE") ? "WRONGTYPE" : text.contains("FENCE") ? "FENCE" : "ERR";
            }
            if (reply.isNull()) {
                return "nothing";
            }
            return reply.type() == RespType.ARRAY
                    ? reply.elements().stream().map(Bench::text).collect(Collectors.joining(" "))
                    : reply.type() == RespType.INTEGER ? Long.toString(reply.asLong()) : reply.asText();
        }

        /** {@code value ttl}, with the ttl rounded up to ten seconds. */
        String key(String name) {
            String value = text(server.call("GET", name));
            long leftMs = server.call("PTTL", name).asLong();
            return leftMs < 0 ? value : value + " " + (leftMs + ROUNDING_MS - 1) / ROUNDING_MS * ROUNDING_MS;
        }

        void assertKey(String name, String expected) {
            assertEquals(expected, key(name), name);
        }

        void assertReply(String expected, String script, String keys, String arguments) {
            assertEquals(expected, run(script, keys, arguments), () -> script + " " + keys + " " + arguments);
        }

        /** A refusal with a time that is left, of which some may have passed. */
        void assertRefused(long leftMs, String script, String keys, String arguments) {
            long reply = -number(script, keys, arguments);
            assertTrue(reply <= leftMs && reply > leftMs - Math.min(leftMs, ROUNDING_MS),
                    () -> script + " " + keys + " " + arguments + ": " + reply + ", and not " + leftMs);
        }

        /** Refuses a set because of a key, from 1. */
        void assertSetRefused(long leftMs, int key, String script, String keys, String arguments) {
            long reply = -number(script, keys, arguments);
            long ttlMs = reply >> 22;
            assertTrue(ttlMs <= leftMs && ttlMs > leftMs - Math.min(leftMs, ROUNDING_MS) && (reply >> 5 & 127) == key,
                    () -> script + " " + keys + " " + arguments + ": " + ttlMs + " ms by key " + (reply >> 5 & 127));
        }

        void pass(long ms) {
            server.pass(ms);
        }

        long second() {
            return Long.parseLong(server.call("TIME").elements().get(0).asText());
        }

        /** Lets time pass until seconds and milliseconds of the clock cannot be confused. */
        void passToMiddleOfSecond() {
            long ms = Long.parseLong(server.call("TIME").elements().get(1).asText()) / 1_000;
            pass(Math.max(0, 300 - ms));
        }

        void assertEntries(long expected) {
            assertEquals(expected, server.call("ZCARD", "k").asLong(), "entries");
        }
    }

    // ---- for people -------------------------------------------------------------------------------------------------

    private static void inspect(Bench bench) {
        bench.with("k a");
        bench.assertReply("string -1 a", "inspect", "k", "");
        bench.assertReply("none -2 ", "inspect", "j", "");
        bench.with("k " + "v".repeat(128), "l " + "v".repeat(129));
        bench.assertReply("string -1 " + "v".repeat(128), "inspect", "k", "");
        bench.assertReply("string -1 ", "inspect", "l", "");
        bench.with("k a 60000");
        long leftMs = Long.parseLong(bench.run("inspect", "k", "").split(" ")[1]);
        assertTrue(leftMs <= MINUTE_MS && leftMs > MINUTE_MS - Bench.ROUNDING_MS, leftMs + " ms");
        bench.assertKey("k", "a 60000");
        bench.with();
        reader(bench, "r", MINUTE_MS);
        String shown = bench.run("inspect", "k", "");
        assertTrue(shown.matches("zset [0-9]+ "), shown);
    }

    /** The hexadecimal form of {@code az} is 617a. */
    private static void breakLock(Bench bench) {
        bench.with("k az 60000", "t a 20000");
        bench.assertReply("0", "break", "k t", "617b");
        bench.assertReply("0", "break", "k t", "61");
        bench.assertReply("0", "break", "j t", "617a");
        bench.assertKey("k", "az 60000");
        bench.assertKey("t", "a 20000");
        bench.assertReply("1", "break", "k t", "617a");
        bench.assertKey("k", "nothing");
        bench.assertKey("t", "a 60000");
        bench.with("k az", "t a 20000");
        bench.assertReply("1", "break", "k", "617a");
        bench.assertKey("k", "nothing");
        bench.assertKey("t", "a 20000");
        bench.with();
        reader(bench, "r", MINUTE_MS);
        bench.assertReply("0", "break", "k t", "72");
        bench.assertEntries(1);
    }

    // ---- plain locks ------------------------------------------------------------------------------------------------

    private static void acquire(Bench bench) {
        bench.with();
        bench.assertReply("1", "acquire", "k", "a 60000");
        bench.assertKey("k", "a 60000");
        bench.assertRefused(MINUTE_MS, "acquire", "k", "b 90000");
        bench.assertRefused(MINUTE_MS, "acquire", "k", "a 90000");
        bench.assertKey("k", "a 60000");
        bench.with("k other");
        bench.assertReply(NEVER, "acquire", "k", "a 60000");
        bench.with();
        reader(bench, "r", MINUTE_MS);
        bench.assertRefused(MINUTE_MS, "acquire", "k", "a 90000");
    }

    private static void acquireFenced(Bench bench) {
        bench.with();
        long first = bench.number("acquire_fenced", "k c", "a 60000 90000 0");
        assertTrue(first > 1L << 50, () -> "seeded by the clock: " + first);
        bench.assertKey("k", "a 60000");
        bench.assertKey("c", first + " 90000");
        bench.assertRefused(MINUTE_MS, "acquire_fenced", "k c", "b 90000 90000 0");
        bench.assertKey("k", "a 60000");
        bench.assertKey("c", first + " 90000");
        bench.with("c 41 20000");
        bench.assertReply("42", "acquire_fenced", "k c", "b 60000 90000 0");
        bench.assertKey("k", "b 60000");
        bench.assertKey("c", "42 90000");
        bench.with("k other");
        bench.assertReply(NEVER, "acquire_fenced", "k c", "a 60000 90000 0");
    }

    /** A grant that is counted: keys are k and c, the ttls a minute and 90 seconds. */
    /** A counter below the floor may have lost counts. */
    private static void countsFromTheFloor(Bench bench, String script, String keys, String arguments) {
        String withFloor = arguments.replace(" 90000 0", " 90000 1000");
        bench.with("c 41");
        bench.assertReply("1000", script, keys, withFloor);
        bench.assertKey("c", "1000 90000");
        bench.with("c 999");
        bench.assertReply("1000", script, keys, withFloor);
        bench.with("c 1000");
        bench.assertReply("1001", script, keys, withFloor);
        bench.with();
        assertTrue(bench.number(script, keys, withFloor) > 1_000_000, "the seed is higher");
        bench.with();
        bench.assertReply("9007199254740000", script, keys, arguments.replace(" 90000 0", " 90000 9007199254740000"));
        for (String negative : new String[]{"-5", "-1"}) {
            bench.with("c " + negative);
            bench.assertReply("FENCE", script, keys, withFloor);
        }
    }

    private static void countedGrant(Bench bench, String script, String keys, String arguments) {
        bench.with();
        long first = bench.second();
        long seed = bench.number(script, keys, arguments);
        assertTrue(seed % (1 << 20) == 0 && seed >> 20 >= first && seed >> 20 <= bench.second(),
                () -> "seeded by the clock: " + seed);
        bench.assertKey("c", seed + " 90000");
        bench.assertKey("k", "a 60000");
        bench.with("c 41 20000");
        bench.assertReply("42", script, keys, arguments);
        bench.assertKey("c", "42 90000");
        bench.assertKey("k", "a 60000");
        bench.with("c 0 20000");
        assertTrue(bench.number(script, keys, arguments) > 1L << 50, "no counter is 0");
        countsFromTheFloor(bench, script, keys, arguments);
        fencedCountersEnd(bench, script, keys, arguments);
        bench.with();
        bench.server.clock((1L << 33) - 1);
        bench.assertReply(Long.toString((1L << 33) - 1 << 20), script, keys, arguments);
        bench.with();
        bench.server.clock(1L << 33);
        bench.assertReply("FENCE", script, keys, arguments);
        bench.assertKey("c", "nothing");
        bench.assertKey("k", "nothing");
    }

    private static void fencedCountersEnd(Bench bench, String script, String keys, String arguments) {
        for (String counter : List.of("many", "-1", Long.toString(EXACT_MAX))) {
            bench.with("c " + counter);
            String reply = bench.run(script, keys, arguments);
            assertTrue(reply.equals("FENCE") || reply.equals("ERR"), () -> counter + ": " + reply);
            bench.assertKey("c", counter);
            bench.assertKey("k", "nothing");
        }
        bench.with("c " + (EXACT_MAX - 1));
        bench.assertReply(Long.toString(EXACT_MAX), script, keys, arguments);
    }

    private static void check(Bench bench) {
        bench.with("k a 60000");
        bench.assertReply("1", "check", "k", "a");
        bench.assertReply("0", "check", "k", "b");
        bench.assertReply("0", "check", "j", "a");
        bench.with();
        reader(bench, "r", MINUTE_MS);
        bench.assertReply("WRONGTYPE", "check", "k", "r");
    }

    private static void extend(Bench bench) {
        bench.with("k a 60000");
        bench.assertReply("1", "extend", "k", "a 90000");
        bench.assertKey("k", "a 90000");
        bench.assertReply("1", "extend", "k", "a 30000");
        bench.assertKey("k", "a 90000");
        bench.assertReply("0", "extend", "k", "b 120000");
        bench.assertKey("k", "a 90000");
        bench.with();
        bench.assertReply("2", "extend", "k", "a 60000");
        bench.assertKey("k", "a 60000");
        bench.with();
        reader(bench, "r", MINUTE_MS);
        bench.assertReply("WRONGTYPE", "extend", "k", "r 90000");
    }

    private static void extendMany(Bench bench) {
        bench.with("k1 a 60000", "k2 other 60000", "k4 d 90000");
        reader(bench, "r", MINUTE_MS);
        bench.assertReply("1 0 2 1 WRONGTYPE", "extend_many", "k1 k2 k3 k4 k",
                "a b c d r 80000 80000 80000 80000 80000");
        bench.assertKey("k1", "a 80000");
        bench.assertKey("k2", "other 60000");
        bench.assertKey("k3", "c 80000");
        bench.assertKey("k4", "d 90000");
        bench.assertReply("1", "check_read", "k", "r");
        bench.with("k1 a", "k2 b 60000", "k3 c");
        bench.assertReply("1 1 1", "extend_many", "k1 k2 k3", "a b c 80000 90000 70000");
        bench.assertKey("k1", "a 80000");
        bench.assertKey("k2", "b 90000");
        bench.assertKey("k3", "c 70000");
    }

    private static void raise(Bench bench, String script) {
        bench.with("k a 60000", "c 41 20000");
        bench.assertReply("1", script, "k c", "a 43 90000");
        bench.assertKey("c", "43 90000");
        bench.assertReply("1", script, "k c", "a 43 90000");
        bench.assertReply("0", script, "k c", "a 42 90000");
        bench.assertReply("0", script, "k c", "b 50 90000");
        bench.assertReply("0", script, "j c", "a 50 90000");
        bench.assertKey("c", "43 90000");
        bench.assertReply("0", script, "k c", "a 9007199254740993 90000");
        bench.with("k a 60000", "c many");
        bench.assertReply("0", script, "k c", "a 42 90000");
        bench.with("k a 60000");
        bench.assertReply("1", script, "k c", "a 42 90000");
        bench.assertKey("c", "42 90000");
        bench.assertReply("1", script, "k c", "a " + EXACT_MAX + " 90000");
        bench.assertKey("c", EXACT_MAX + " 90000");
    }

    private static void release(Bench bench) {
        bench.with("k a 60000");
        bench.assertReply("0", "release", "k", "b");
        bench.assertReply("0", "release", "j", "a");
        bench.assertKey("k", "a 60000");
        bench.assertReply("1", "release", "k", "a");
        bench.assertKey("k", "nothing");
        bench.with();
        reader(bench, "r", MINUTE_MS);
        bench.assertReply("WRONGTYPE", "release", "k", "r");
    }

    private static void releaseFenced(Bench bench, String script) {
        bench.with("k a 60000", "c 41 20000");
        bench.assertReply("0", script, "k c", "b 40 90000");
        bench.assertKey("k", "a 60000");
        bench.assertKey("c", "41 20000");
        bench.assertReply("1", script, "k c", "a 43 90000");
        bench.assertKey("k", "nothing");
        bench.assertKey("c", "43 90000");
        bench.assertReply("0", script, "k c", "a 44 90000");
        bench.assertKey("c", "44 90000");
        bench.assertReply("0", script, "k c", "a 9007199254740993 90000");
        bench.assertKey("c", "44 90000");
        bench.with("k a 60000", "c many");
        bench.assertReply("1", script, "k c", "a 43 90000");
        bench.assertKey("c", "many");
        bench.with("k a 60000");
        bench.assertReply("1", script, "k c", "a 43 90000");
        bench.assertKey("c", "nothing");
        bench.with("k a 60000", "c 43 20000");
        bench.assertReply("1", script, "k c", "a 43 90000");
        bench.assertKey("c", "43 20000");
        bench.assertReply("0", script, "k c", "a " + EXACT_MAX + " 90000");
        bench.assertKey("c", EXACT_MAX + " 90000");
        // A token may look like a number.
        bench.with("k 7 60000", "c 7");
        bench.assertReply("1", script, "k c", "7 9 90000");
        bench.assertKey("k", "nothing");
        bench.assertKey("c", "9 90000");
        bench.with("c 90000");
        bench.assertReply("0", script, "k c", "a 90001 90000");
        bench.assertKey("c", "90001 90000");
    }

    private static void releaseMany(Bench bench) {
        bench.with("k1 a 60000", "k2 other 60000", "k4 d 60000");
        reader(bench, "r", MINUTE_MS);
        bench.assertReply("1 0 0 1 0", "release_many", "k1 k2 k3 k4 k", "a b c d r");
        bench.assertKey("k1", "nothing");
        bench.assertKey("k2", "other 60000");
        bench.assertKey("k4", "nothing");
        bench.assertReply("1", "check_read", "k", "r");
        bench.with("k1 a 60000", "k2 b 60000", "k3 c 60000");
        bench.assertReply("3", "release_many", "k1 k2 k3", "a b c");
        for (String key : List.of("k1", "k2", "k3")) {
            bench.assertKey(key, "nothing");
        }
        bench.assertReply("0 0", "release_many", "k1 k2", "a b");
        // Each place has its own token, which another key may have.
        for (int other = 1; other <= 3; other++) {
            bench.with("k1 a 60000", "k2 a 60000", "k3 a 60000", "k" + other + " b 60000");
            bench.assertReply((other == 1 ? "0" : "1") + (other == 2 ? " 0" : " 1") + (other == 3 ? " 0" : " 1"),
                    "release_many", "k1 k2 k3", "a a a");
            bench.assertKey("k" + other, "b 60000");
            bench.assertKey("k" + (other % 3 + 1), "nothing");
        }
        bench.with("k1 a 60000", "k2 a 60000");
        bench.assertReply("1 0", "release_many", "k1 k2", "a b");
        bench.assertKey("k1", "nothing");
        bench.assertKey("k2", "a 60000");
    }

    private static void releaseManyFenced(Bench bench) {
        bench.with("k1 a 60000", "k2 other 60000", "k3 c 60000", "c1 5", "c2 6", "c3 7");
        bench.assertReply("1 0 1 0", "release_many_fenced", "k1 k2 k3 k4 c1 c2 c3 c4", "a b c d 5 9 6 8 90000");
        bench.assertKey("k1", "nothing");
        bench.assertKey("k2", "other 60000");
        bench.assertKey("k3", "nothing");
        bench.assertKey("c1", "5");
        bench.assertKey("c2", "9 90000");
        bench.assertKey("c3", "7");
        bench.assertKey("c4", "nothing");
        bench.with("c1 5");
        bench.assertReply("0 0", "release_many_fenced", "k1 k1 c1 c1", "a b 12 11 90000");
        bench.assertKey("c1", "12 90000");
        bench.assertReply("0", "release_many_fenced", "k1 c1", "a 9007199254740993 90000");
        bench.assertKey("c1", "12 90000");
        bench.assertReply("0", "release_many_fenced", "k1 c1", "a " + EXACT_MAX + " 90000");
        bench.assertKey("c1", EXACT_MAX + " 90000");
        // A token may look like a number.
        for (String token : List.of("5", "7", "9")) {
            bench.with("k1 " + token + " 60000", "k2 b 60000", "k3 c 60000", "c1 5", "c2 5", "c3 5");
            bench.assertReply("1 1 1", "release_many_fenced", "k1 k2 k3 c1 c2 c3", token + " b c 9 9 9 90000");
            bench.assertKey("k1", "nothing");
            for (String counter : List.of("c1", "c2", "c3")) {
                bench.assertKey(counter, "9 90000");
            }
        }
        bench.with("k1 5 60000", "c1 5");
        bench.assertReply("0", "release_many_fenced", "k1 c1", "7 9 90000");
        bench.assertKey("k1", "5 60000");
        bench.with("k1 a 60000", "k2 other 60000");
        bench.assertReply("1 0", "release_many_fenced", "k1 k2 c1 c2", "a b 9 9 90000");
        bench.assertKey("k1", "nothing");
        // A counter that is no string is left alone.
        bench.with("k1 a 60000", "k2 b 60000", "c2 5");
        reader(bench, "r", MINUTE_MS);
        bench.assertReply("1 1", "release_many_fenced", "k1 k2 k c2", "a b 9 9 90000");
        bench.assertReply("1", "check_read", "k", "r");
        bench.assertKey("c2", "9 90000");
    }

    private static void shorten(Bench bench) {
        bench.with("k1 a 60000", "k2 a 20000", "k3 a", "k4 other 60000");
        bench.assertReply("1", "shorten", "k1 k2 k3", "a 30000");
        bench.assertKey("k1", "a 30000");
        bench.assertKey("k2", "a 20000");
        bench.assertKey("k3", "a 30000");
        reader(bench, "r", MINUTE_MS);
        bench.assertReply("0", "shorten", "k k4 k5 k1", "a 10000");
        assertEquals("WRONGTYPE 60000", bench.key("k"));
        bench.assertKey("k4", "other 60000");
        bench.assertKey("k5", "nothing");
        bench.assertKey("k1", "a 10000");
    }

    // ---- sets -------------------------------------------------------------------------------------------------------

    private static void acquireSet(Bench bench, String script) {
        boolean isFenced = script.contains("fenced");
        String keys = isFenced ? "k1 k2 c1 c2" : "k1 k2";
        String ttls = isFenced ? " 60000 90000 0" : " 60000";
        bench.with();
        assertTrue(bench.number(script, keys, "a" + ttls + " -") > 0);
        bench.assertKey("k1", "a 60000");
        bench.assertKey("k2", "a 60000");
        bench.with("k2 other 40000");
        bench.assertSetRefused(40_000, 2, script, keys, "a" + ttls + " -");
        bench.assertKey("k1", "nothing");
        bench.assertKey("k2", "other 40000");
        bench.assertKey("k1:redlock:reservation", "nothing");
        bench.with("k1 other 40000", "k2 other 30000");
        bench.assertSetRefused(40_000, 1, script, keys, "a" + ttls + " -");
        bench.with("k1 other 40000", "k2 other");
        bench.assertReply(SET_NEVER, script, keys, "a" + ttls + " -");
        // It may respect reservations and leave none.
        bench.with("k2 other 40000");
        bench.assertSetRefused(40_000, 2, script, keys, "a" + ttls + " ?");
        bench.assertKey("k1:redlock:reservation", "nothing");
        bench.with("k2:redlock:reservation i 200");
        bench.assertSetRefused(200, 2, script, keys, "a" + ttls + " ?");
        // A refused set leaves its reservation, which refuses others that wait; one that tries once ignores it.
        bench.with("k2 other 40000");
        bench.assertSetRefused(40_000, 2, script, keys, "a" + ttls + " i");
        bench.assertKey("k1:redlock:reservation", "i 10000");
        bench.assertSetRefused(40_000, 2, script, keys, "b" + ttls + " j");
        bench.assertKey("k1:redlock:reservation", "i 10000");
        bench.assertReply("1", "release", "k2", "other");
        bench.assertSetRefused(RESERVATION_MS, 1, script, keys, "b" + ttls + " j");
        bench.assertKey("k1", "nothing");
        assertTrue(bench.number(script, keys, "a" + ttls + " i") > 0);
        bench.assertKey("k1:redlock:reservation", "nothing");
        bench.assertKey("k1", "a 60000");
        bench.with("k2 other 40000");
        bench.assertSetRefused(40_000, 2, script, keys, "a" + ttls + " i");
        bench.assertReply("1", "release", "k2", "other");
        assertTrue(bench.number(script, keys, "b" + ttls + " -") > 0);
        // A key of that name which lasts longer is no reservation.
        bench.with("k1:redlock:reservation foreign 90000");
        assertTrue(bench.number(script, keys, "a" + ttls + " i") > 0);
        bench.assertKey("k1:redlock:reservation", "foreign 90000");
        bench.with("k1:redlock:reservation foreign 90000", "k2 other 40000");
        bench.assertSetRefused(40_000, 2, script, keys, "a" + ttls + " i");
        bench.assertKey("k1:redlock:reservation", "foreign 90000");
        bench.with();
        bench.assertReply("1", "acquire_read", "k1:redlock:reservation", "r " + (RESERVATION_MS - 1));
        assertTrue(bench.number(script, keys, "a" + ttls + " i") > 0, "it is no string");
        bench.with("k1 other 40000");
        bench.assertSetRefused(40_000, 1, script, keys, "a" + ttls + " -");
        bench.assertKey("k2", "nothing");
        bench.with("k2 other 3000000000");
        bench.assertReply(SET_NEVER, script, keys, "a" + ttls + " -");
        bench.with("k2:redlock:reservation i 200");
        assertTrue(bench.number(script, keys, "a" + ttls + " i") > 0, "its own one");
        bench.assertKey("k1:redlock:reservation", "nothing");
        bench.assertKey("k2:redlock:reservation", "nothing");
        if (!isFenced) {
            bench.with();
            bench.assertReply("1", script, keys, "a" + ttls + " -");
        }
        // It leaves reservations before the first one of another client only.
        String three = isFenced ? "k1 k2 k3 c1 c2 c3" : "k1 k2 k3";
        bench.with("k2:redlock:reservation j 200", "k3 other 40000");
        bench.assertSetRefused(40_000, 3, script, three, "a" + ttls + " i");
        bench.assertKey("k1:redlock:reservation", "i 10000");
        bench.assertKey("k2:redlock:reservation", "j 10000");
        bench.assertKey("k3:redlock:reservation", "nothing");
    }

    /** Tickets for one of the keys; -(ttl * 2^22 + ticket * 2^12 + key * 2^5 + place) refuses. */
    private static void ticketsOfSet(Bench bench, String script) {
        boolean isFenced = script.contains("fenced");
        String keys = isFenced ? "k1 k2 c1 c2" : "k1 k2";
        String ttls = isFenced ? " 60000 90000 0 " : " 60000 ";
        bench.with("k2 other 40000");
        assertSetTicket(bench, 0, 0, script, keys, "a" + ttls + "-");
        assertSetTicket(bench, 2, 1, script, keys, "b" + ttls + "? 0 0");
        assertSetTicket(bench, 3, 2, script, keys, "c" + ttls + "j 0 0");
        bench.assertKey("k1:redlock:reservation", "j 10000");
        bench.assertKey("k2:redlock:reservation", "nothing");
        assertSetTicket(bench, 4, 3, script, keys, "d" + ttls + "? 7 0");
        assertSetTicket(bench, 3, 1, script, keys, "c" + ttls + "j 0 3");
        bench.assertKey("k2:redlock:reservation", "j 10000");
        bench.assertReply("1", "release", "k2", "other");
        assertTrue(bench.number(script, keys, "b" + ttls + "- 0 2") > 0);
        bench.assertReply("1", "release", "k1", "b");
        assertSetTicket(bench, 3, 1, script, keys, "c" + ttls + "- 0 3");
        assertSetTicket(bench, 4, 2, script, keys, "d" + ttls + "- 0 4");
        assertSetTicket(bench, 2, 1, script, keys, "b" + ttls + "- 0 2");
        bench.assertReply("1", "release", "k2", "b");
        assertTrue(bench.number(script, keys, "d" + ttls + "- 0 4") > 0);
        bench.assertReply("1", "release", "k1", "d");
        assertSetTicket(bench, 5, 1, script, keys, "e" + ttls + "- 0 0");
        // Another key of that name costs the order only.
        String ticketsKey = "k2:redlock:reservation:tickets";
        for (String count : List.of("text", "-70000", "-65537")) {
            bench.with("k2 other 40000", ticketsKey + " " + count);
            assertSetTicket(bench, 0, 0, script, keys, "a" + ttls + "- 0 0");
        }
        bench.with("k2 other 40000", ticketsKey + " " + ((1L << 52) - 1));
        assertSetTicket(bench, 5, 1, script, keys, "a" + ttls + "- 0 5");
        bench.assertKey(ticketsKey, (1L << 52) - 1 + " 60000");
        bench.with("k2 other 40000", ticketsKey + " " + (1L << 52));
        assertSetTicket(bench, 0, 0, script, keys, "a" + ttls + "- 0 5");
        bench.assertKey(ticketsKey, "nothing");
        bench.with("k1 other 40000");
        assertSetTicket(bench, 2, 1, 1, script, keys, "a" + ttls + "i 0 0");
        bench.assertKey("k1:redlock:reservation", "i 10000");
        bench.assertKey("k1:redlock:reservation:tickets", "65536 60000");
        bench.assertKey("k2:redlock:reservation", "i 10000");
        placesOfSet(bench, script, keys, ttls);
        usesOfSetTickets(bench, script, keys, ttls);
    }

    /** The key of tickets: the last ticket times 2^16, plus the last one that was granted. */
    private static String ticketKey(String key, long last, long granted) {
        return key + " " + (last * 65_536 + granted) + " 60000";
    }

    private static void placesOfSet(Bench bench, String script, String keys, String ttls) {
        // The last ticket, the last that was granted, the ticket, the ticket in the reply, the place.
        for (long[] each : new long[][]{{1_022, 1_021, 0, 1, 2}, {100, 10, 0, 102, 31}, {5, 3, 3, 3, 1},
            {5, 3, 4, 4, 1},
            {600, 590, 605, 605, 1}, {5, 3, 6, 6, 2}, {1_026, 3, 6, 6, 1}, {1_026, 3, 5, 5, 1}, {0, 0, 5, 5, 1},
            {1, 0, 1, 1, 1}, {1_027, 3, 6, 6, 1}, {70_000, 69_999 % 65_536, 0, 70_001 % 1_023 + 1, 31}}) {
            bench.with("k2 other 40000", ticketKey("k2:redlock:reservation:tickets", each[0], each[1]));
            assertSetTicket(bench, each[3], each[4], script, keys, "a" + ttls + "- 0 " + each[2]);
        }
    }

    private static void usesOfSetTickets(Bench bench, String script, String keys, String ttls) {
        for (long[] each : new long[][]{{5, 3, 6, 5}, {5, 3, 4, 3}, {5, 3, 2, 3}, {5, 3, 7, 3}, {5, 3, 0, 3},
            {600, 590, 605, 590}, {1_023, 1_021, 1, 0}, {1_023, 1_021, 2, 1_021}, {1_026, 3, 5, 3}, {1_022, 0, 0, 0}}) {
            bench.with(ticketKey("k2:redlock:reservation:tickets", each[0], each[1]));
            String text = Arrays.toString(each);
            assertTrue(bench.number(script, keys, "a" + ttls + "- 0 " + each[2]) > 0, text);
            assertEquals(each[0] * 65_536 + each[3] + " 60000", bench.key("k2:redlock:reservation:tickets"), text);
            bench.assertKey("k1:redlock:reservation:tickets", "nothing");
        }
        bench.with();
        assertTrue(bench.number(script, keys, "a" + ttls + "-") > 0);
        bench.assertKey("k1:redlock:reservation:tickets", "nothing");
        bench.with("k1:redlock:reservation:tickets text");
        assertTrue(bench.number(script, keys, "a" + ttls + "- 5 0") > 0, "no order");
    }

    private static void assertSetTicket(Bench bench, long ticket, long place, String script, String keys,
            String arguments) {
        assertSetTicket(bench, ticket, place, 2, script, keys, arguments);
    }

    private static void assertSetTicket(Bench bench, long ticket, long place, int key, String script, String keys,
            String arguments) {
        long reply = -bench.number(script, keys, arguments);
        assertEquals(ticket + " at " + place, (reply >> 12 & 1023) + " at " + (reply & 31), arguments);
        assertTrue(reply >> 22 > 20_000 && (reply >> 5 & 127) == key, () -> "key " + (reply >> 5 & 127));
    }

    private static void fencedSet(Bench bench) {
        bench.with("c1 41", "c2 57");
        bench.assertReply("58", "acquire_fenced_set", "k1 k2 c1 c2", "a 60000 90000 0 -");
        bench.assertKey("c1", "58 90000");
        bench.assertKey("c2", "58 90000");
        bench.with("c1 57", "c2 41");
        bench.assertReply("58", "acquire_fenced_set", "k1 k2 c1 c2", "a 60000 90000 0 -");
        bench.with("c1 41", "c2 42");
        bench.assertReply("43", "acquire_fenced_set", "k1 k2 c1 c2", "a 60000 90000 0 -");
        bench.with("c1 41");
        long seeded = bench.number("acquire_fenced_set", "k1 k2 c1 c2", "a 60000 90000 0 -");
        assertTrue(seeded > 1L << 50, () -> "the missing counter is seeded by the clock: " + seeded);
        bench.assertKey("c1", seeded + " 90000");
        for (String counters : List.of("c1 k", "k c1")) {
            bench.with("c1 41");
            reader(bench, "r", MINUTE_MS);
            bench.assertReply("FENCE", "acquire_fenced_set", "k1 k2 " + counters, "a 60000 90000 0 -");
            bench.assertKey("k1", "nothing");
            bench.assertKey("c1", "41");
            assertEquals("WRONGTYPE 60000", bench.key("k"));
        }
    }

    private static void checkSet(Bench bench) {
        bench.with("k1 a 60000", "k2 a 60000");
        bench.assertReply("1", "check_set", "k1 k2", "a");
        bench.assertReply("0", "check_set", "k1 k2 k3", "a");
        bench.assertReply("0", "check_set", "k3 k1 k2", "a");
        bench.assertReply("0", "check_set", "k1 k2", "b");
    }

    private static void extendSet(Bench bench) {
        bench.with("k1 a 60000", "k2 a 90000");
        bench.assertReply("1", "extend_set", "k1 k2", "a 80000");
        bench.assertKey("k1", "a 80000");
        bench.assertKey("k2", "a 90000");
        bench.assertReply("2", "extend_set", "k1 k2 k3", "a 80000");
        bench.assertKey("k3", "a 80000");
        bench.with("k1 a 60000", "k3 other 60000");
        bench.assertReply("0", "extend_set", "k1 k2 k3", "a 90000");
        bench.assertKey("k1", "a 60000");
        bench.assertKey("k2", "nothing");
        bench.with("k1 a 60000");
        reader(bench, "r", MINUTE_MS);
        bench.assertReply("0", "extend_set", "k1 k", "a 90000");
        bench.assertReply("1", "check_read", "k", "r");
        bench.with("k1 other 60000", "k2 a 60000");
        bench.assertReply("0", "extend_set", "k1 k2", "a 90000");
        bench.assertKey("k1", "other 60000");
        bench.assertKey("k2", "a 60000");
        bench.with("k1 a 90000", "k2 a 60000", "k3 a");
        bench.assertReply("1", "extend_set", "k1 k2 k3", "a 80000");
        bench.assertKey("k1", "a 90000");
        bench.assertKey("k2", "a 80000");
        bench.assertKey("k3", "a 80000");
    }

    private static void raiseSet(Bench bench) {
        bench.with("k1 a 60000", "k2 a 60000", "c1 41", "c2 57");
        bench.assertReply("0", "raise_set", "k1 k2 c1 c2", "a 50 90000");
        bench.assertKey("c1", "41");
        bench.assertReply("1", "raise_set", "k1 k2 c1 c2", "a 58 90000");
        bench.assertKey("c1", "58 90000");
        bench.assertKey("c2", "58 90000");
        bench.assertReply("0", "raise_set", "k1 k3 c1 c2", "a 60 90000");
        bench.assertKey("c1", "58 90000");
        for (String counters : List.of("c1 k", "k c1")) {
            bench.with("k1 a 60000", "k2 a 60000", "c1 41");
            reader(bench, "r", MINUTE_MS);
            bench.assertReply("0", "raise_set", "k1 k2 " + counters, "a 58 90000");
            bench.assertKey("c1", "41");
            assertEquals("WRONGTYPE 60000", bench.key("k"));
        }
    }

    private static void releaseSet(Bench bench, String script, String keys, String arguments) {
        bench.with("k1 a 60000", "k2 a 60000", "c1 5", "c2 9");
        bench.assertReply("1", script, keys, arguments);
        bench.assertKey("k1", "nothing");
        bench.assertKey("k2", "nothing");
        bench.with("k1 other 60000", "k2 a 60000");
        bench.assertReply("-1", script, keys, arguments);
        bench.assertKey("k1", "other 60000");
        bench.assertKey("k2", "nothing");
        bench.with("k1 other 60000");
        bench.assertReply("0", script, keys, arguments);
        bench.assertKey("k1", "other 60000");
    }

    private static void releaseFencedSet(Bench bench) {
        bench.with("k1 7 60000", "k2 7 60000", "k3 7 60000", "c1 5", "c2 8", "c3 6");
        bench.assertReply("1", "release_fenced_set", "k1 k2 k3 c1 c2 c3", "7 8 90000");
        for (String key : List.of("k1", "k2", "k3")) {
            bench.assertKey(key, "nothing");
        }
        bench.assertKey("c1", "8 90000");
        bench.assertKey("c2", "8");
        bench.assertKey("c3", "8 90000");
    }

    private static void remainingTtl(Bench bench) {
        bench.with("k1 a 60000", "k2 b 90000");
        long leftMs = bench.number("remaining_ttl_set", "k1", "a");
        assertTrue(leftMs > 50_000 && leftMs <= MINUTE_MS, () -> leftMs + " ms");
        assertTrue(bench.number("remaining_ttl_set", "k1 k2 k3", "a") > 80_000, "the longest");
        assertTrue(bench.number("remaining_ttl_set", "k2 k1", "a") > 80_000, "the longest");
        bench.assertReply("-2", "remaining_ttl_set", "k3", "a");
        bench.with("k1 a 60000", "k2 b");
        bench.assertReply("-1", "remaining_ttl_set", "k2 k1", "a");
    }

    // ---- semaphores -------------------------------------------------------------------------------------------------

    /** The search starts after the permit that the last two bytes of the token choose: here after the first. */
    private static void findPermit(Bench bench) {
        String token = "a".repeat(18) + "\0\0";
        bench.with();
        bench.assertReply("2", "find_permit", "k1 k2 k3", token + " 1");
        bench.assertReply("1", "find_permit", "k1", token + " 1");
        bench.assertReply(Integer.toString(2 + 512), "find_permit", "k1 k2 k3", token + " 2");
        bench.assertReply(Integer.toString(2 + 512 + 1024), "find_permit", "k1 k2 k3", token + " 3");
        bench.with("k2 a 60000");
        bench.assertReply("3", "find_permit", "k1 k2 k3", token + " 1");
        bench.with("k2 a");
        bench.assertReply("3", "find_permit", "k1 k2 k3", token + " 1");
        bench.with("k1 a 60000", "k2 b 90000", "k3 c");
        bench.assertRefused(MINUTE_MS, "find_permit", "k1 k2 k3", token + " 1");
        bench.with("k1 a", "k2 b");
        bench.assertReply(NEVER, "find_permit", "k1 k2", token + " 1");
        bench.assertKey("k1", "a");
        // Bits count from the first permit that is free.
        bench.with("k2 a 60000");
        bench.assertReply(Integer.toString(3 + 512), "find_permit", "k1 k2 k3", token + " 2");
        bench.with("k2 a 60000", "k3 a 60000");
        bench.assertReply("1", "find_permit", "k1 k2 k3", token + " 2");
        bench.with();
        bench.assertReply("1", "find_permit", "k1 k2 k3", "a".repeat(18) + "\0\2 1");
        bench.assertReply("2", "find_permit", "k1 k2 k3 k4 k5 k6 k7", "a".repeat(18) + "\1\3 1");
        String many = IntStream.rangeClosed(1, 50).mapToObj(i -> "k" + i).collect(Collectors.joining(" "));
        bench.assertReply(Long.toString(2 + 512 * ((1L << 40) - 1)), "find_permit", many, token + " 50");
    }

    // ---- readers and writers ----------------------------------------------------------------------------------------

    private static void reader(Bench bench, String token, long ttlMs) {
        bench.assertReply("1", "acquire_read", "k", token + " " + ttlMs);
    }

    /** A writer is refused, and leaves its reservation. */
    private static void reservation(Bench bench, long ttlMs) {
        assertTrue(bench.number("acquire_write", "k", "w " + ttlMs + " i") < 0);
    }

    /** The sorted set of another program: it never expires, and its scores look as if they were expired entries. */
    private static void foreignSetStays(Bench bench, Runnable command) {
        bench.with();
        bench.server.call("ZADD", "k", "7", "player");
        command.run();
        assertEquals("7", bench.server.call("ZSCORE", "k", "player").asText(), "the score");
        bench.assertEntries(1);
        assertEquals(-1, bench.server.call("PTTL", "k").asLong(), "it never expires");
    }

    private static void acquireRead(Bench bench) {
        bench.with();
        reader(bench, "r", MINUTE_MS);
        reader(bench, "s", 30_000);
        assertEquals("WRONGTYPE 60000", bench.key("k"), "it expires with the last reader");
        reader(bench, "t", 90_000);
        assertEquals("WRONGTYPE 90000", bench.key("k"), "it expires with the last reader");
        for (String token : List.of("r", "s", "t")) {
            bench.assertReply("1", "check_read", "k", token);
        }
        bench.assertReply("0", "acquire_read", "k", "r 20");
        bench.pass(30);
        bench.assertReply("1", "check_read", "k", "r");
        reservation(bench, 20_000);
        bench.assertRefused(20_000, "acquire_read", "k", "u 60000");
        bench.assertReply("0", "check_read", "k", "u");
        bench.with("k writer 60000");
        bench.assertRefused(MINUTE_MS, "acquire_read", "k", "r 60000");
        bench.assertKey("k", "writer 60000");
        bench.with("k writer");
        bench.assertReply(NEVER, "acquire_read", "k", "r 60000");
        foreignSetStays(bench, () -> bench.assertReply(NEVER, "acquire_read", "k", "r 60000"));
        bench.with();
        reader(bench, "r", MINUTE_MS);
        reader(bench, "s", 20);
        bench.pass(30);
        reader(bench, "t", 30_000);
        assertEquals("WRONGTYPE 60000", bench.key("k"), "it expires with the last reader");
        // The key of a removed reservation outlives the last reader, and ends with it.
        bench.with();
        reader(bench, "r", 20);
        reservation(bench, MINUTE_MS);
        bench.assertReply("-1", "release_write", "k", "i");
        bench.pass(30);
        reader(bench, "s", 30_000);
        assertEquals("WRONGTYPE 30000", bench.key("k"), "it expires with the last reader");
        bench.with();
        reader(bench, "r", MINUTE_MS);
        reservation(bench, 20);
        bench.pass(30);
        reader(bench, "s", MINUTE_MS);
        bench.assertEntries(2);
    }

    private static void acquireWrite(Bench bench, String script) {
        boolean isFenced = script.contains("fenced");
        String keys = isFenced ? "k c" : "k";
        String ttls = isFenced ? " 60000 90000 0 " : " 60000 ";
        bench.with();
        assertTrue(bench.number(script, keys, "w" + ttls + "-") > 0);
        bench.assertKey("k", "w 60000");
        bench.assertRefused(MINUTE_MS, script, keys, "v" + ttls + "i");
        bench.assertKey("k", "w 60000");
        bench.with("k writer");
        bench.assertReply(NEVER, script, keys, "v" + ttls + "i");
        foreignSetStays(bench, () -> bench.assertReply(NEVER, script, keys, "v" + ttls + "i"));
        bench.with();
        reader(bench, "r", 30_000);
        bench.assertRefused(30_000, script, keys, "w" + ttls + "-");
        bench.assertReply("1", "check_read", "k", "r");
        reader(bench, "s", 20_000);
        bench.assertRefused(30_000, script, keys, "w" + ttls + "i");
        bench.assertRefused(MINUTE_MS, "acquire_read", "k", "t 60000");
        assertEquals("WRONGTYPE 60000", bench.key("k"), "it expires with the reservation");
        bench.assertReply("1", "release_read", "k", "r");
        bench.assertReply("1", "release_read", "k", "s");
        assertTrue(bench.number(script, keys, "w" + ttls + "i") > 0, "the last reader has left");
        bench.assertKey("k", "w 60000");
        bench.with();
        reader(bench, "r", 20);
        bench.pass(30);
        assertTrue(bench.number(script, keys, "w" + ttls + "-") > 0, "the reader has expired");
        bench.with();
        reader(bench, "r", 20);
        reservation(bench, MINUTE_MS);
        bench.pass(30);
        assertTrue(bench.number(script, keys, "w" + ttls + "i") > 0, "the reader has expired");
        bench.assertKey("k", "w 60000");
        if (!isFenced) {
            bench.with();
            bench.assertReply("1", script, keys, "w" + ttls + "-");
            bench.with();
            reader(bench, "r", 20);
            reservation(bench, MINUTE_MS);
            bench.pass(30);
            bench.assertReply("1", script, keys, "w" + ttls + "-");
        }
        bench.with();
        for (String token : List.of("r", "s", "t")) {
            reader(bench, token, 90_000);
        }
        bench.assertRefused(90_000, script, keys, "w" + ttls + "i");
        assertEquals("WRONGTYPE 90000", bench.key("k"), "it expires with the last reader");
        // It is written again if less than half of its time is left.
        for (long[] each : new long[][]{{60_000, 60_000}, {40_000, 40_000}, {25_000, 60_000}, {5_000, 60_000}}) {
            bench.with();
            reader(bench, "r", 90_000);
            reservation(bench, each[0]);
            bench.assertRefused(90_000, script, keys, "w" + ttls + "i");
            bench.assertRefused(each[1], "acquire_read", "k", "t 60000");
        }
        bench.with();
        reader(bench, "r", 90_000);
        reservation(bench, 90_000);
        bench.assertRefused(90_000, script, keys, "w" + ttls + "i");
        bench.assertRefused(90_000, "acquire_read", "k", "t 60000");
    }

    private static void checkRead(Bench bench) {
        bench.with();
        bench.passToMiddleOfSecond();
        reader(bench, "r", MINUTE_MS);
        reader(bench, "s", 20);
        bench.assertReply("1", "check_read", "k", "r");
        bench.assertReply("0", "check_read", "k", "t");
        bench.assertReply("0", "check_read", "j", "r");
        // No command since its acquire has removed the entry that expires here.
        bench.pass(30);
        bench.assertReply("0", "check_read", "k", "s");
        reservation(bench, MINUTE_MS);
        bench.assertReply("0", "check_read", "k", "i");
        bench.with("k r 60000");
        bench.assertReply("0", "check_read", "k", "r");
    }

    private static void extendRead(Bench bench) {
        bench.with();
        reader(bench, "r", MINUTE_MS);
        bench.assertReply("1", "extend_read", "k", "r 90000");
        assertEquals("WRONGTYPE 90000", bench.key("k"));
        reader(bench, "s", 20);
        bench.assertReply("1", "extend_read", "k", "s 60000");
        assertEquals("WRONGTYPE 90000", bench.key("k"), "it expires with the last reader");
        bench.assertReply("1", "extend_read", "k", "s 20");
        bench.pass(30);
        bench.assertReply("1", "check_read", "k", "s");
        bench.assertReply("2", "extend_read", "k", "t 60000");
        bench.assertReply("1", "check_read", "k", "t");
        reservation(bench, MINUTE_MS);
        bench.assertReply("1", "extend_read", "k", "r 90000");
        bench.assertReply("0", "extend_read", "k", "u 60000");
        bench.assertReply("0", "check_read", "k", "u");
        bench.with();
        bench.passToMiddleOfSecond();
        bench.assertReply("2", "extend_read", "k", "r 500");
        bench.assertReply("1", "check_read", "k", "r");
        foreignSetStays(bench, () -> bench.assertReply("0", "extend_read", "k", "r 90000"));
        bench.with("k writer 60000");
        bench.assertReply("0", "extend_read", "k", "r 90000");
        bench.assertKey("k", "writer 60000");
    }

    private static void releaseRead(Bench bench) {
        bench.with();
        reader(bench, "r", 90_000);
        reader(bench, "s", 30_000);
        bench.assertReply("0", "release_read", "k", "t");
        bench.assertReply("1", "release_read", "k", "r");
        bench.assertReply("0", "check_read", "k", "r");
        bench.assertReply("1", "check_read", "k", "s");
        assertEquals("WRONGTYPE 30000", bench.key("k"), "it expires with the last reader");
        bench.passToMiddleOfSecond();
        reader(bench, "u", 20);
        reader(bench, "v", 20);
        bench.pass(30);
        bench.assertReply("-1", "release_read", "k", "u");
        bench.assertEntries(1);
        // The reservation of a writer outlives the readers, and keeps new ones away.
        reservation(bench, MINUTE_MS);
        bench.assertReply("1", "release_read", "k", "s");
        assertEquals("WRONGTYPE 60000", bench.key("k"), "it expires with the reservation");
        bench.assertRefused(MINUTE_MS, "acquire_read", "k", "v 60000");
        bench.with();
        reader(bench, "r", 90_000);
        bench.assertReply("1", "release_read", "k", "r");
        bench.assertKey("k", "nothing");
        for (String token : List.of("r 90000", "s 40000", "t 30000", "u 20000")) {
            bench.assertReply("1", "acquire_read", "k", token);
        }
        bench.assertReply("1", "release_read", "k", "r");
        assertEquals("WRONGTYPE 40000", bench.key("k"), "it expires with the last reader");
        bench.with("k r 60000");
        bench.assertReply("0", "release_read", "k", "r");
        bench.assertKey("k", "r 60000");
    }

    private static void shortenRead(Bench bench) {
        bench.with();
        reader(bench, "r", 90_000);
        reader(bench, "s", 30_000);
        bench.assertReply("1", "shorten_read", "k", "r 40000");
        assertEquals("WRONGTYPE 40000", bench.key("k"), "it expires with the last reader");
        bench.assertReply("1", "shorten_read", "k", "s 60000");
        assertEquals("WRONGTYPE 40000", bench.key("k"), "no entry is extended");
        bench.assertReply("0", "shorten_read", "k", "t 10000");
        reservation(bench, MINUTE_MS);
        bench.assertReply("1", "shorten_read", "k", "r 20");
        assertEquals("WRONGTYPE 60000", bench.key("k"), "it expires with the reservation");
        bench.pass(30);
        bench.assertReply("0", "check_read", "k", "r");
        bench.assertReply("1", "check_read", "k", "s");
        bench.assertRefused(MINUTE_MS, "acquire_read", "k", "v 60000");
        bench.with();
        for (String token : List.of("r 90000", "s 40000", "t 30000", "u 20000")) {
            bench.assertReply("1", "acquire_read", "k", token);
        }
        bench.passToMiddleOfSecond();
        bench.assertReply("1", "shorten_read", "k", "r 500");
        bench.assertReply("1", "check_read", "k", "r");
        assertEquals("WRONGTYPE 40000", bench.key("k"), "it expires with the last reader");
        bench.with("k r 60000");
        bench.assertReply("0", "shorten_read", "k", "r 10000");
        bench.assertKey("k", "r 60000");
    }

    private static void releaseWrite(Bench bench) {
        bench.with("k w 60000");
        bench.assertReply("0", "release_write", "k", "v");
        bench.assertKey("k", "w 60000");
        bench.assertReply("1", "release_write", "k", "w");
        bench.assertKey("k", "nothing");
        bench.with();
        reader(bench, "r", MINUTE_MS);
        reservation(bench, MINUTE_MS);
        bench.assertReply("0", "release_write", "k", "w");
        bench.assertRefused(MINUTE_MS, "acquire_read", "k", "s 60000");
        bench.assertReply("-1", "release_write", "k", "i");
        bench.assertReply("1", "check_read", "k", "r");
        reader(bench, "s", MINUTE_MS);
    }
}
