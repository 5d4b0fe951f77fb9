package dev.redlock.engine;

import dev.redlock.api.LockInspection;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.node.LockKind;
import dev.redlock.quorum.Majority;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.SafeText;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Shows the keys of a lock on all nodes, and deletes those with a given value.
 *
 * @threading any thread but the event loops
 */
public final class LockInspector {

    /**
     * Deletes KEYS[1] if its value is ARGV[1], in hexadecimal, and changes the traces, KEYS[2]: a client that retains
     * the lock learns of it. Reply: the former type, remaining ttl, and value.
     */
    private static final String SCRIPT = """
            --inspect
            local kind, ttl, value = redis.call('TYPE', KEYS[1]).ok, redis.call('PTTL', KEYS[1]), ''
            if kind == 'string' then value = redis.call('GET', KEYS[1]) end
            if #value > 128 then value = '' end
            value = value:gsub('.', function(char) return string.format('%02x', char:byte()) end)
            if value ~= '' and value == ARGV[1] then
              redis.call('DEL', KEYS[1])
              if KEYS[2] then redis.pcall('PEXPIRE', KEYS[2], 60000) end
            end
            return {kind, ttl, value}""";
    private static final int TIMEOUT_S = 1;
    private static final int PROBLEM_LENGTH_MAX = 200;
    /** A value with the name that {@code RedlockContext.nameInValues} appends to the token. */
    private static final Pattern NAMED = Pattern.compile("(?s).{20}@([!-~]{1,64})");

    /**
     * The answer of one node.
     *
     * @param value the value of an exclusive lock in hexadecimal; else empty
     * @threading   immutable
     */
    private record Answer(LockInspection.Entry entry, String value) {

        static Answer of(RespValue reply, String problem) {
            try {
                return of(reply.elements());
            } catch (RuntimeException | GeneralSecurityException e) {
                String text = reply != null && reply.isError() ? "EVAL failed: " + reply.asText() : problem;
                return new Answer(new LockInspection.Entry(LockInspection.Kind.UNKNOWN, 0, null, null,
                        SafeText.of(text == null ? "no answer" : text, PROBLEM_LENGTH_MAX)), "");
            }
        }

        private static Answer of(List<RespValue> reply) throws GeneralSecurityException {
            String value = reply.get(2).asText();
            LockInspection.Kind kind = switch (reply.get(0).asText()) {
                case "none" -> LockInspection.Kind.FREE;
                case "zset" -> LockInspection.Kind.READERS;
                default -> value.isEmpty() ? LockInspection.Kind.FOREIGN : LockInspection.Kind.EXCLUSIVE;
            };
            byte[] bytes = HexFormat.of().parseHex(value);
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(bytes);
            Matcher named = NAMED.matcher(new String(bytes, StandardCharsets.ISO_8859_1));
            return new Answer(new LockInspection.Entry(kind, reply.get(1).asLong(),
                    value.isEmpty() ? null : HexFormat.of().formatHex(digest, 0, 4),
                    named.matches() ? named.group(1) : null, null), value);
        }
    }

    private LockInspector() {
    }

    /** Asks all nodes at once for keys of one event loop. The answers of one key follow those of another. */
    private static List<Answer> ask(LockEngine engine, List<? extends LockKey> keys, String valueToDelete)
            throws InterruptedException {
        engine.refuseOnLoop("inspect or breakLock", "another thread");
        if (Thread.interrupted()) {
            // A future that is complete would not notice it.
            throw new InterruptedException("interrupted before asking the nodes for \"" + keys.get(0) + '"');
        }
        int nodeCount = engine.nodeCount();
        var replies = Stream.generate(CompletableFuture<RespValue>::new).limit(nodeCount * keys.size()).toList();
        Conductor conductor = engine.conductorOf(keys.get(0));
        try {
            conductor.services.loop.execute(() -> {
                for (int i = 0; i < replies.size(); i++) {
                    int node = i % nodeCount;
                    LockKey key = keys.get(i / nodeCount);
                    String name = key.prefix() + key.resource();
                    CompletableFuture<RespValue> next = replies.get(i);
                    conductor.services.voters[node].nodeFor(key).ask(reply -> {
                        next.complete(reply);
                        if (!valueToDelete.isEmpty()) {
                            onDeleted(conductor, node, name);
                        }
                    }, command(engine, name, valueToDelete));
                }
            });
            CompletableFuture.allOf(replies.toArray(CompletableFuture[]::new)).get(TIMEOUT_S, TimeUnit.SECONDS);
        } catch (RejectedExecutionException | TimeoutException | ExecutionException e) {
            // The entries show it.
        }
        List<Answer> answers = new ArrayList<>();
        for (int i = 0; i < replies.size(); i++) {
            answers.add(Answer.of(replies.get(i).getNow(null), engine.problemOf(i % nodeCount)));
        }
        return answers;
    }

    /** No client with clusters retains locks, and a cluster might have the two keys in different slots. */
    private static String[] command(LockEngine engine, String name, String valueToDelete) {
        return engine.hasClusters
                ? new String[]{"EVAL", SCRIPT, "1", name, valueToDelete}
                : new String[]{"EVAL", SCRIPT, "2", name, KeyText.traceName(name), valueToDelete};
    }

    /** A node does not push a change to the connection that has made it. */
    private static void onDeleted(Conductor conductor, int node, String key) {
        ByteBuf name = Unpooled.copiedBuffer(key, StandardCharsets.UTF_8);
        conductor.scheduler.queues.onInvalidated(node, name, 0, name.readableBytes());
        conductor.keeper.lossWatch.onInvalidated(node, name, 0, name.readableBytes());
        ByteBuf trace = Unpooled.copiedBuffer(KeyText.traceName(key), StandardCharsets.UTF_8);
        conductor.keeper.retention.onInvalidated(node, trace, 0, trace.readableBytes());
    }

    /** Shows the keys of a plain lock. */
    public static LockInspection show(LockEngine engine, LockKey key) throws InterruptedException {
        return inspection(engine, ask(engine, List.of(key), ""));
    }

    /** Shows the keys of the permits of a semaphore, in the order of their numbers. */
    public static List<LockInspection> showPermits(LockEngine engine, LockKey key, int count)
            throws InterruptedException {
        PermitKey semaphore = (PermitKey) key.as(LockKind.PERMIT, count);
        int nodeCount = engine.nodeCount();
        List<Answer> answers = ask(engine, IntStream.range(0, count).mapToObj(semaphore::permitKey).toList(), "");
        return IntStream.range(0, count)
                .mapToObj(i -> inspection(engine, answers.subList(i * nodeCount, (i + 1) * nodeCount)))
                .toList();
    }

    private static LockInspection inspection(LockEngine engine, List<Answer> answers) {
        Majority majority = engine.config().nodes().majority();
        List<LockInspection.Entry> entries = answers.stream().map(Answer::entry).toList();
        Map<String, Long> holders = new HashMap<>();
        String heldBy = null;
        for (int i = 0; i < entries.size(); i++) {
            String id = entries.get(i).id();
            if (id != null && majority.isReachedBy(holders.merge(id, 1L << i, (one, other) -> one | other))) {
                heldBy = id;
            }
        }
        return new LockInspection(entries, heldBy);
    }

    /** Deletes the keys of a plain lock that have the value with an id. */
    public static ReleaseOutcome breakValue(LockEngine engine, LockKey key, String id) throws InterruptedException {
        List<Answer> answers = ask(engine, List.of(key), "");
        String value = answers.stream()
                .filter(answer -> id.equals(answer.entry.id()))
                .findFirst()
                .map(Answer::value)
                .orElse(null);
        if (value != null) {
            answers = ask(engine, List.of(key), value);
        }
        long silentMask = 0;
        boolean isDeleted = false;
        for (int i = 0; i < answers.size(); i++) {
            silentMask |= answers.get(i).entry.kind() == LockInspection.Kind.UNKNOWN ? 1L << i : 0;
            isDeleted |= answers.get(i).value.equals(value);
        }
        if (engine.config().nodes().majority().isReachedBy(silentMask)) {
            return ReleaseOutcome.UNKNOWN;
        }
        return isDeleted ? ReleaseOutcome.RELEASED : ReleaseOutcome.EXPIRED;
    }
}
