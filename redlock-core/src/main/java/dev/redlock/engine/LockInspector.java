package dev.redlock.engine;

import dev.redlock.api.LockInspection;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.engine.key.KeyText;
import dev.redlock.engine.key.LockKey;
import dev.redlock.engine.key.PermitKey;
import dev.redlock.node.send.LockKind;
import dev.redlock.node.send.ScriptSources;
import dev.redlock.quorum.Majority;
import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.SafeText;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Shows the keys of a lock on all nodes, and deletes those with a given value.
 *
 * @threading any thread but the event loops
 */
public final class LockInspector {

    private static final String INSPECT = script("inspect");
    private static final String BREAK = script("break");
    private static final int TIMEOUT_S = 1;
    private static final int PROBLEM_LENGTH_MAX = 200;

    /**
     * The answer of one node.
     *
     * @param value the value of an exclusive lock; else null
     * @threading   immutable
     */
    private record Answer(LockInspection.Entry entry, LockValue value) {

        static Answer of(RespValue reply, String problem) {
            try {
                return of(reply.elements());
            } catch (RuntimeException e) {
                String text = reply != null && reply.isError() ? "EVAL failed: " + reply.asText() : problem;
                return new Answer(new LockInspection.Entry(LockInspection.Kind.UNKNOWN, 0, null, null,
                        SafeText.of(text == null ? "no answer" : text, PROBLEM_LENGTH_MAX)), null);
            }
        }

        private static Answer of(List<RespValue> reply) {
            byte[] bytes = reply.get(2).asBytes();
            LockValue value = bytes.length == 0 ? null : LockValue.of(bytes);
            LockInspection.Kind kind = switch (reply.get(0).asText()) {
                case "none" -> LockInspection.Kind.FREE;
                case "zset" -> LockInspection.Kind.READERS;
                default -> value == null ? LockInspection.Kind.FOREIGN : LockInspection.Kind.EXCLUSIVE;
            };
            return new Answer(new LockInspection.Entry(kind, reply.get(1).asLong(), value == null ? null : value.id(),
                    value == null ? null : value.holder(), null), value);
        }
    }

    private LockInspector() {
    }

    private static String script(String name) {
        return new String(ScriptSources.load(name), StandardCharsets.US_ASCII);
    }

    /**
     * The command that deletes the key of a lock if it has a value. Its reply is 1 if it has deleted the key, else 0.
     *
     * @param key        the name of the key
     * @param mayBeRetained whether a client may retain the lock
     * @return the words of the command
     */
    public static String[] breakCommand(String key, LockValue value, boolean mayBeRetained) {
        return mayBeRetained
                ? new String[]{"EVAL", BREAK, "2", key, KeyText.traceName(key), value.hex()}
                : new String[]{"EVAL", BREAK, "1", key, value.hex()};
    }

    /**
     * Asks all nodes at once for keys of one event loop, or to delete one. The replies about one key follow those about
     * another; null for none.
     */
    private static List<RespValue> ask(LockEngine engine, List<? extends LockKey> keys, LockValue valueToDelete)
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
                        if (valueToDelete != null) {
                            onDeleted(conductor, node, name);
                        }
                    }, command(engine, name, valueToDelete));
                }
            });
            if (conductor.isClosed()) {
                // A loop of the client itself accepts tasks silently after its end.
                replies.forEach(reply -> reply.complete(null));
            }
            CompletableFuture.allOf(replies.toArray(CompletableFuture[]::new)).get(TIMEOUT_S, TimeUnit.SECONDS);
        } catch (RejectedExecutionException | TimeoutException | ExecutionException e) {
            // The entries show it.
        }
        return replies.stream().map(reply -> reply.getNow(null)).toList();
    }

    /** No client with clusters retains locks, and a cluster might have the two keys in different slots. */
    private static String[] command(LockEngine engine, String name, LockValue valueToDelete) {
        return valueToDelete == null
                ? new String[]{"EVAL", INSPECT, "1", name}
                : breakCommand(name, valueToDelete, !engine.hasClusters);
    }

    private static List<Answer> answers(LockEngine engine, List<? extends LockKey> keys) throws InterruptedException {
        List<RespValue> replies = ask(engine, keys, null);
        return IntStream.range(0, replies.size())
                .mapToObj(i -> Answer.of(replies.get(i), problemOf(engine, i % engine.nodeCount())))
                .toList();
    }

    private static String problemOf(LockEngine engine, int node) {
        return engine.loops.isClosing() ? "the client is closed" : engine.problemOf(node);
    }

    /** A node does not push a change to the connection that has made it. */
    private static void onDeleted(Conductor conductor, int node, String key) {
        ByteBuf name = Unpooled.copiedBuffer(key, StandardCharsets.UTF_8);
        conductor.keyChanges.onInvalidated(node, name, 0, name.readableBytes());
        conductor.keeper.lossWatch.onInvalidated(node, name, 0, name.readableBytes());
        ByteBuf trace = Unpooled.copiedBuffer(KeyText.traceName(key), StandardCharsets.UTF_8);
        conductor.keeper.retention.onInvalidated(node, trace, 0, trace.readableBytes());
    }

    /** Shows the keys of a plain lock. */
    public static LockInspection show(LockEngine engine, LockKey key) throws InterruptedException {
        return inspection(engine, answers(engine, List.of(key)));
    }

    /** Shows the keys of the permits of a semaphore, in the order of their numbers. */
    public static List<LockInspection> showPermits(LockEngine engine, LockKey key, int count)
            throws InterruptedException {
        PermitKey semaphore = (PermitKey) key.as(LockKind.PERMIT, count);
        int nodeCount = engine.nodeCount();
        List<Answer> answers = answers(engine, IntStream.range(0, count).mapToObj(semaphore::permitKey).toList());
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
            // The holder may be a client that knows one of two lists.
            if (id != null
                    && majority.isReachedInEitherListBy(holders.merge(id, 1L << i, (one, other) -> one | other))) {
                heldBy = id;
            }
        }
        return new LockInspection(entries, heldBy);
    }

    /** Deletes the keys of a plain lock that have the value with an id. */
    public static ReleaseOutcome breakValue(LockEngine engine, LockKey key, String id) throws InterruptedException {
        List<Answer> answers = answers(engine, List.of(key));
        LockValue value = answers.stream()
                .filter(answer -> id.equals(answer.entry.id()))
                .findFirst()
                .map(Answer::value)
                .orElse(null);
        List<Boolean> deleted = value == null
                ? answers.stream().map(LockInspector::isDeleted).toList()
                : ask(engine, List.of(key), value).stream().map(LockInspector::isDeleted).toList();
        long silentMask = 0;
        for (int i = 0; i < deleted.size(); i++) {
            silentMask |= deleted.get(i) == null ? 1L << i : 0;
        }
        if (engine.config().nodes().majority().isReachedInEitherListBy(silentMask)) {
            return ReleaseOutcome.UNKNOWN;
        }
        return deleted.contains(true) ? ReleaseOutcome.RELEASED : ReleaseOutcome.EXPIRED;
    }

    /** Without a value there is nothing to delete; null for a node without an answer. */
    private static Boolean isDeleted(Answer answer) {
        return answer.entry.kind() == LockInspection.Kind.UNKNOWN ? null : false;
    }

    /** Null for a node without an answer. */
    private static Boolean isDeleted(RespValue reply) {
        return reply == null || reply.type() != RespType.INTEGER ? null : reply.asLong() == 1;
    }
}
