package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.cli.AdminClient;
import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import dev.redlock.trial.nodes.RedisNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What the scripts do if the server refuses one of their commands, as it does without memory or without a right: the
 * reply is an error, or it is as true as without the refusal. An acquire with an error leaves no lock.
 */
final class ScriptDenials implements AutoCloseable {

    /** In place of a command: the channels to which messages are published. */
    private static final String CHANNELS = "channels";
    private static final List<String> COMMANDS = List.of("set", "get", "mget", "del", "exists", "incr", "incrby",
            "decr",
            "pexpire", "pexpireat", "pttl", "time", "zadd", "zrem", "zremrangebyscore", "zrange", "zrank", "zscore",
            "zcard", "publish", "type", CHANNELS);

    /** A call of a script, and what the server has before. */
    private record Call(String script, String keys, String arguments, List<String> before) {
        static Call of(String script, String keys, String arguments, String... before) {
            return new Call(script, keys, arguments, List.of(before));
        }
    }

    /** A key {@code name value ttl}, or a sorted set of a reader {@code k @token score}. */
    private static final List<Call> CALLS = List.of(
            Call.of("acquire", "k", "a 60000"), Call.of("acquire", "k", "a 60000", "k o 60000"),
            Call.of("acquire_fenced", "k c", "a 60000 90000 0"),
            Call.of("acquire_fenced", "k c", "a 60000 90000 0", "c 5 9000"),
            Call.of("acquire_fenced", "k c", "a 60000 90000 0", "k o 60000"),
            Call.of("acquire_fenced", "k c", "a 60000 90000 0", "c -5 9000"),
            Call.of("acquire_in_order", "k", "a 60000 c m 0 f"),
            Call.of("acquire_in_order", "k", "a 60000 c m 0 e", "c:queue @m -60000", "c:queue @n 60000"),
            Call.of("acquire_in_order", "k", "a 60000 c m 0 e", "c:queue @n -60000", "c:queue @m 60000"),
            Call.of("acquire_in_order", "k", "a 60000 c m 0 f", "k o 60000"),
            Call.of("acquire_in_order", "k", "a 60000 c m 0 e", "k o 60000", "c:queue @m -60000"),
            Call.of("acquire_in_order", "k", "a 60000 c m 0 c", "c:queue @n -60000", "c:queue @m 60000"),
            Call.of("acquire_fenced_in_order", "k c", "a 60000 90000 0 m 0 f"),
            Call.of("acquire_fenced_in_order", "k c", "a 60000 90000 0 m 0 e", "c 5 9000", "c:queue @m -60000",
                    "c:queue @n 60000"),
            Call.of("acquire_fenced_in_order", "k c", "a 60000 90000 0 m 0 e", "c 5 9000", "c:queue @n -60000",
                    "c:queue @m 60000"),
            Call.of("acquire_fenced_in_order", "k c", "a 60000 90000 0 m 0 f", "k o 60000"),
            Call.of("acquire_fenced_in_order", "k c", "a 60000 90000 0 m 0 e", "k o 60000", "c:queue @m -60000"),
            Call.of("acquire_fenced_in_order", "k c", "a 60000 90000 0 m 0 c", "c 5 9000", "c:queue @n -60000",
                    "c:queue @m 60000"),
            Call.of("leave_queue", "k", "a c m", "k o 60000", "c:queue @m -60000", "c:queue @n 60000"),
            Call.of("leave_queue", "k", "a c m", "c:queue @n -60000", "c:queue @m 60000"),
            Call.of("acquire_set", "k1 k2", "a 60000 i"),
            Call.of("acquire_set", "k1 k2", "a 60000 i 0 0", "k2 o 60000"),
            Call.of("acquire_set", "k1 k2", "a 60000 i 0 2", "k1:redlock:reservation i 200",
                    "k2:redlock:reservation:tickets 131073 60000"),
            Call.of("acquire_set", "k1 k2", "a 60000 i 0 2", "k2 o 60000",
                    "k2:redlock:reservation:tickets 4503599627370496 60000"),
            Call.of("acquire_fenced_set", "k1 k2 c1 c2", "a 60000 90000 0 i"),
            Call.of("acquire_fenced_set", "k1 k2 c1 c2", "a 60000 90000 0 i", "c1 5 9000", "c2 8 9000"),
            Call.of("acquire_fenced_set", "k1 k2 c1 c2", "a 60000 90000 0 i 0 0", "k2 o 60000"),
            Call.of("acquire_fenced_set", "k1 k2 c1 c2", "a 60000 90000 0 i 0 2", "k1:redlock:reservation i 200"),
            Call.of("acquire_fenced_set", "k1 k2 c1 c2", "a 60000 90000 0 i 0 2", "k2 o 60000",
                    "k2:redlock:reservation:tickets 4503599627370496 60000"),
            Call.of("acquire_fenced_write", "k c", "a 60000 90000 0 i", "c 5 9000"),
            Call.of("acquire_write", "k", "a 90000 i", "k @b 60000"),
            Call.of("acquire_fenced_write", "k c", "a 90000 90000 0 i", "k @b 60000"),
            Call.of("release_read", "k", "a", "k @a 60000", "k @b 0", "k @c 30000"),
            Call.of("acquire_read", "k", "a 60000"), Call.of("acquire_read", "k", "a 60000", "k @b 30000"),
            Call.of("acquire_read", "k", "a 60000", "k @w -60000"),
            Call.of("acquire_read", "k", "a 60000", "k @a 30000"),
            Call.of("acquire_read", "k", "a 60000", "k o 60000"),
            Call.of("acquire_write", "k", "a 60000 i"), Call.of("acquire_write", "k", "a 60000 i", "k @b 60000"),
            Call.of("acquire_write", "k", "a 60000 i", "k @w -60000"),
            Call.of("acquire_write", "k", "a 60000 i", "k o 60000"),
            Call.of("acquire_write", "k", "a 60000 i", "k @b 30000", "k @i -3000"),
            Call.of("acquire_fenced_write", "k c", "a 60000 90000 0 i"),
            Call.of("acquire_fenced_write", "k c", "a 60000 90000 0 i", "k @b 60000"),
            Call.of("break", "k t", "61", "k a 60000"), Call.of("break", "k t", "62", "k a 60000"),
            Call.of("inspect", "k", "", "k a"),
            Call.of("check", "k", "a", "k a 60000"), Call.of("check_read", "k", "a", "k @a 60000"),
            Call.of("check_set", "k1 k2", "a", "k1 a 60000", "k2 a 60000"),
            Call.of("extend", "k", "a 90000", "k a 60000"), Call.of("extend", "k", "a 90000"),
            Call.of("extend", "k", "a 90000", "k o 60000"),
            Call.of("extend_many", "k1 k2 k3 k4", "a a a a 80000 80000 80000 80000", "k1 a 60000", "k2 a",
                    "k4 a 90000"),
            Call.of("extend_read", "k", "a 90000", "k @a 60000"), Call.of("extend_read", "k", "a 90000"),
            Call.of("extend_read", "k", "a 90000", "k @w -60000"),
            Call.of("extend_set", "k1 k2", "a 90000", "k1 a 60000"),
            Call.of("extend_set", "k1 k2", "a 90000", "k1 a 60000", "k2 a 60000"),
            Call.of("extend_set", "k k2", "a 90000", "k @b 60000", "k2 a 60000"),
            Call.of("find_permit", "k1 k2", "aaaaaaaaaaaaaaaaaaaaaa 1", "k1 o 60000"),
            Call.of("raise", "k c", "a 7 90000", "k a 60000", "c 5 9000"),
            Call.of("raise", "k c", "a 7 90000", "k o 60000"),
            Call.of("raise_set", "k1 k2 c1 c2", "a 7 90000", "k1 a 60000", "k2 a 60000", "c1 5 9000"),
            Call.of("release", "k", "a", "k a 60000"),
            Call.of("release_fenced", "k c", "a 7 90000", "k a 60000", "c 5 9000"),
            Call.of("release_fenced_set", "k1 k2 c1 c2", "a 7 90000", "k1 a 60000", "k2 a 60000", "c1 5 9000"),
            Call.of("release_fenced_write", "k c", "a 7 90000", "k a 60000", "c 5 9000"),
            Call.of("release_many", "k1 k2", "a a", "k1 a 60000", "k2 a 60000"),
            Call.of("release_many", "k1 k2", "a a", "k1 a 60000", "k2 o 60000"),
            Call.of("release_many_fenced", "k1 k2 c1 c2", "a a 7 7 90000", "k1 a 60000", "k2 o 60000", "c1 5 9000"),
            Call.of("release_read", "k", "a", "k @a 60000"),
            Call.of("release_read", "k", "a", "k @a 60000", "k @b 30000"),
            Call.of("release_set", "k1 k2", "a", "k1 a 60000", "k2 a 60000"),
            Call.of("release_write", "k", "a", "k a 60000"),
            Call.of("release_write", "k", "a", "k @b 60000", "k @a -60000"),
            Call.of("remaining_ttl_set", "k1 k2", "a", "k1 a 60000"),
            Call.of("shorten", "k1 k2", "a 30000", "k1 a 60000", "k2 a 60000"),
            Call.of("shorten_read", "k", "a 30000", "k @a 60000", "k @b 40000"));

    /** A command that costs only the order of waiting clients, or that has a key of its own in a batch. */
    private static final Set<String> MUST_ANSWER = Set.of("acquire_in_order zrange", "acquire_in_order zrem",
            "acquire_in_order zadd", "acquire_in_order zrank", "acquire_in_order publish", "acquire_in_order channels",
            "acquire_in_order time", "acquire_in_order get", "acquire_in_order del", "acquire_in_order pexpire",
            "acquire_fenced_in_order zrange", "acquire_fenced_in_order zrem", "acquire_fenced_in_order zadd",
            "acquire_fenced_in_order zrank", "acquire_fenced_in_order publish", "acquire_fenced_in_order channels",
            "acquire_fenced_in_order get", "acquire_fenced_in_order del", "leave_queue zrange", "leave_queue zrem",
            "leave_queue publish", "leave_queue channels", "leave_queue pttl", "leave_queue get", "leave_queue set",
            "acquire_set incrby", "acquire_set pexpire", "acquire_set get", "acquire_set del", "break pexpire",
            "acquire_fenced_set incrby", "acquire_fenced_set pexpire", "acquire_fenced_set get",
            "acquire_fenced_set del", "extend_many pexpire", "extend_many pttl", "extend_many set", "extend_many get",
            "release_many_fenced get");
    /** Without them a client cannot enter the queue, or does not see the others: a free lock is granted. */
    private static final Set<String> NO_ORDER = Set.of("zrange", "zadd", "time");
    /** 0 in place of an error: nothing is known to be ours. */
    private static final Set<String> MAY_BE_0 = Set.of("check_read zscore", "extend_read zscore", "release_read zscore",
            "shorten_read zscore", "release_write zrem", "leave_queue zrem", "shorten get");
    /** The reply of the release of one key says nothing about the counter of another one. */
    private static final String COUNTERS_MAY_STAY = "release_many_fenced get";

    private static final String STATE = """
            local time = redis.call('TIME')
            local now = time[1] * 1000 + math.floor(time[2] / 1000)
            local all = ''
            for _, key in ipairs(KEYS) do
              local held = redis.call('TYPE', key).ok
              all = all .. key .. '=' .. held .. ' ' .. math.ceil(redis.call('PTTL', key) / 10000)
              if held == 'string' then
                all = all .. ' ' .. redis.call('GET', key)
              elseif held == 'zset' then
                for i, text in ipairs(redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')) do
                  all = all .. ' ' .. (i % 2 == 1 and text or math.ceil((math.abs(tonumber(text)) - now) / 10000))
                end
              end
              all = all .. '\\n'
            end
            return all
            """;

    private final AdminClient admin;
    private final AdminClient limited;

    ScriptDenials(RedisNode node) {
        admin = node.connect();
        limited = node.connect();
        send(admin, "ACL", "SETUSER", "limited", "on", ">secret", "~*", "&*", "+@all");
        send(limited, "AUTH", "limited", "secret");
    }

    @Override
    public void close() {
        admin.close();
        limited.close();
    }

    private static RespValue send(AdminClient client, String... words) {
        try {
            return client.send(words);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Judges a script, or a wrong variant of it. */
    void check(String script, String source) {
        for (Call call : CALLS) {
            if (call.script.equals(script)) {
                start(call);
                RespValue right = run(call, source);
                String state = state(call);
                for (String command : COMMANDS) {
                    start(call);
                    String before = state(call);
                    send(admin, "ACL", "SETUSER", "limited",
                            command.equals(CHANNELS) ? "resetchannels" : "-" + command);
                    RespValue reply = run(call, source);
                    send(admin, "ACL", "SETUSER", "limited", command.equals(CHANNELS) ? "&*" : "+" + command);
                    judge(call, command, List.of(text(right), text(reply)),
                            List.of(before, state, state(call)));
                }
            }
        }
    }

    private void judge(Call call, String command, List<String> replies, List<String> states) {
        String what = call + " without " + command + ": " + replies + " " + states;
        String right = replies.get(0);
        String reply = replies.get(1);
        String key = call.script + " " + command;
        boolean isAcquire = call.script.startsWith("acquire");
        boolean isRefused = isAcquire && right.startsWith("-");
        if (reply.equals("ERR")) {
            assertFalse(MUST_ANSWER.contains(key)
                    || isRefused && (call.script.contains("_in_order") && Set.of("pexpire", "time").contains(command)
                            && call.before.contains("k o 60000")
                            || call.script.contains("_set") && command.equals("set")),
                    what);
            assertTrue(!isAcquire || states.get(0).equals(states.get(2))
                    || !states.get(2).matches("(?s).* a( .*|\n.*)"), what);
            return;
        }
        if (isRefused && NO_ORDER.contains(command) && !call.before.contains("k o 60000")
                && call.script.contains("_in_order")) {
            // Nobody but the client that is first holds it back.
            assertTrue(!isNegative(reply) && states.get(2).contains("k=string 6 a\n"), what);
            return;
        }
        if (isAcquire && (isRefused || isNegative(reply))) {
            assertTrue(isNegative(reply), what);
            // Another holder has not refused a reader or a writer.
            assertTrue(isNegative(right) || !call.script.endsWith("_read") && !call.script.endsWith("_write"), what);
            assertTrue(!states.get(2).contains(" a\n"), what);
            assertTrue(!isRefused || !call.script.endsWith("_write") || states.get(1).equals(states.get(2)),
                    what);
        } else if (reply.equals(right)) {
            assertTrue(states.get(1).equals(states.get(2)) || key.equals(COUNTERS_MAY_STAY), what);
        } else if (call.script.equals("acquire_in_order")) {
            // Without the right to publish, nobody is dropped, and others seem to wait.
            assertTrue(reply.equals("2") && right.equals("1") && states.get(1).equals(states.get(2)), what);
        } else if (reply.contains(" ")) {
            List<String> each = Arrays.asList(reply.split(" "));
            List<String> wanted = Arrays.asList(right.split(" "));
            for (int i = 0; i < wanted.size(); i++) {
                assertTrue(each.get(i).equals("ERR") || each.get(i).equals(wanted.get(i)), what);
            }
        } else {
            assertTrue(reply.equals("0") && MAY_BE_0.contains(key) || isAcquire && isSeed(reply) && isSeed(right)
                    || call.script.equals("remaining_ttl_set") && Long.parseLong(reply) > 50_000, what);
        }
    }

    /** A counter that was missing starts with the clock. */
    private static boolean isSeed(String reply) {
        return reply.matches("[0-9]{12,}");
    }

    private static boolean isNegative(String reply) {
        return reply.startsWith("-") || reply.equals("0");
    }

    private void start(Call call) {
        send(admin, "FLUSHALL");
        List<RespValue> time = send(admin, "TIME").elements();
        long nowMs = Long.parseLong(time.get(0).asText()) * 1_000 + Long.parseLong(time.get(1).asText()) / 1_000;
        for (String each : call.before) {
            String[] words = each.split(" ");
            if (words[1].startsWith("@")) {
                long ttlMs = Long.parseLong(words[2]);
                send(admin, "ZADD", words[0], Long.toString(ttlMs < 0 ? ttlMs - nowMs : ttlMs + nowMs),
                        words[1].substring(1));
                send(admin, "PEXPIRE", words[0], "60000");
            } else if (words.length == 2) {
                send(admin, "SET", words[0], words[1]);
            } else {
                send(admin, "SET", words[0], words[1], "PX", words[2]);
            }
        }
    }

    private RespValue run(Call call, String source) {
        List<String> words = new ArrayList<>(List.of("EVAL", source));
        List<String> keys = List.of(call.keys.split(" "));
        words.add(Integer.toString(keys.size()));
        words.addAll(keys);
        Arrays.stream(call.arguments.split(" ")).map(word -> word.equals("-") ? "" : word).forEach(words::add);
        return send(limited, words.toArray(String[]::new));
    }

    private String state(Call call) {
        List<String> words = new ArrayList<>(List.of("EVAL", STATE));
        List<String> keys = List.of(call.keys.split(" "));
        words.add(Integer.toString(keys.size()));
        words.addAll(keys);
        return send(admin, words.toArray(String[]::new)).asText();
    }

    private static String text(RespValue reply) {
        if (reply.isError()) {
            return "ERR";
        }
        if (reply.isNull()) {
            return "nothing";
        }
        return reply.type() == RespType.ARRAY
                ? reply.elements().stream().map(ScriptDenials::text).collect(Collectors.joining(" "))
                : reply.type() == RespType.INTEGER ? Long.toString(reply.asLong()) : reply.asText();
    }
}
