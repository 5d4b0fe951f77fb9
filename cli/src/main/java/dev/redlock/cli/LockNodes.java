package dev.redlock.cli;

import dev.redlock.engine.key.KeyText;
import dev.redlock.engine.LockValue;
import dev.redlock.engine.key.PermitKey;
import dev.redlock.transport.VoterAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * All nodes of the locks. It asks them at the same time, each on a thread of its own, so that their answers belong to
 * about the same moment.
 *
 * @threading caller-confined
 */
final class LockNodes implements AutoCloseable {

    private final ExecutorService threads;
    private List<LockNode> nodes;

    private LockNodes(ExecutorService threads, List<LockNode> nodes) {
        this.threads = threads;
        this.nodes = nodes;
    }

    /** Connects to all nodes. A node that is down is one with a problem. */
    static LockNodes connect(List<? extends VoterAddress> addresses, Duration timeout, ClientTls files) {
        ExecutorService threads = Executors.newFixedThreadPool(addresses.size(), task -> {
            Thread thread = new Thread(task, "locks");
            thread.setDaemon(true);
            return thread;
        });
        return new LockNodes(threads,
                onAll(threads, addresses, address -> LockNode.connect(address, timeout, files)));
    }

    /** Connects again to the nodes that have a problem, and to the new primaries that Sentinels name. */
    void reconnect() {
        nodes = onAll(threads, nodes, LockNode::renewed);
    }

    /** Runs a task for each node at the same time; the task gets the index of the node. */
    <T> List<T> onEach(IntFunction<T> task) {
        return onAll(threads, IntStream.range(0, nodes.size()).boxed().toList(), task::apply);
    }

    private static <S, T> List<T> onAll(ExecutorService threads, List<? extends S> sources, Function<S, T> task) {
        List<CompletableFuture<T>> results = new ArrayList<>();
        for (S source : sources) {
            results.add(CompletableFuture.supplyAsync(() -> task.apply(source), threads));
        }
        List<T> values = new ArrayList<>();
        for (CompletableFuture<T> result : results) {
            values.add(result.join());
        }
        return values;
    }

    List<LockNode> nodes() {
        return nodes;
    }

    int quorum() {
        return nodes.size() / 2 + 1;
    }

    int upCount() {
        int count = 0;
        for (LockNode node : nodes) {
            count += node.isUp() ? 1 : 0;
        }
        return count;
    }

    /** The locks whose keys start with a prefix, in the order of their names, and whether there are more. */
    Listing list(String prefix, int limit, Duration end) {
        List<Set<String>> found = new ArrayList<>();
        for (int i = 0; i < nodes.size(); i++) {
            found.add(new TreeSet<>());
        }
        List<Boolean> more = onEach(i -> nodes.get(i).scan(prefix, found.get(i), limit, end));
        Set<String> all = new TreeSet<>();
        for (Set<String> ofNode : found) {
            all.addAll(ofNode);
        }
        List<String> names = all.stream().limit(limit).toList();
        boolean isCut = more.contains(true) || all.size() > limit;
        List<LockView> views = readFound(names);
        List<LockView> readable = views.stream().filter(view -> !isDenied(view)).toList();
        return new Listing(readable, isCut, views.size() - readable.size());
    }

    /** Whether the user may read the key on no node that answers. */
    private boolean isDenied(LockView view) {
        return upCount() > 0 && view.readings().stream().allMatch(Objects::isNull);
    }

    /** One lock by the name of its key. */
    LockView read(String key) {
        return readSettled(List.of(new String(key.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1)))
                .get(0);
    }

    /** The held permits of a semaphore by its name. */
    List<LockView> readPermits(String semaphore) {
        String name = new String(semaphore.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
        return readSettled(IntStream.range(0, PermitKey.PERMITS_MAX)
                .mapToObj(number -> KeyText.permitName(name, number))
                .toList()).stream().filter(view -> !view.isFree()).toList();
    }

    /**
     * Keys that a scan has found; one that the user may not read has no reading. If other nodes let the user read it,
     * the node has a problem, because its votes are missing.
     */
    List<LockView> readFound(List<String> names) {
        List<LockView> views = readSettled(names, true);
        for (int i = 0; i < nodes.size(); i++) {
            nodes.get(i).setUnreadable(nodes.get(i).isUp() ? unreadableOn(i, views) : null);
        }
        return views;
    }

    private static String unreadableOn(int node, List<LockView> views) {
        return views.stream()
                .filter(view -> view.readings().get(node) == null)
                .filter(view -> view.readings().stream().anyMatch(Objects::nonNull))
                .map(LockView::shownName)
                .findFirst()
                .orElse(null);
    }

    private List<LockView> readSettled(List<String> names) {
        return readSettled(names, false);
    }

    /** A lock on which the nodes disagree may have been acquired or released in between: it is read again. */
    private List<LockView> readSettled(List<String> names, boolean areFound) {
        List<LockView> views = new ArrayList<>(readOnce(names, areFound));
        List<String> unsettled = views.stream().filter(view -> !view.isUnanimous()).map(LockView::name).toList();
        if (!unsettled.isEmpty()) {
            List<LockView> again = readOnce(unsettled, areFound);
            views.replaceAll(view -> unsettled.contains(view.name())
                    ? again.get(unsettled.indexOf(view.name()))
                    : view);
        }
        return views;
    }

    private List<LockView> readOnce(List<String> names, boolean areFound) {
        List<List<KeyReading>> byNode = onAll(threads, nodes, node -> node.isUp() ? node.read(names, areFound) : null);
        List<LockView> views = new ArrayList<>();
        for (int k = 0; k < names.size(); k++) {
            List<KeyReading> readings = new ArrayList<>();
            for (List<KeyReading> ofNode : byNode) {
                readings.add(ofNode == null ? null : ofNode.get(k));
            }
            views.add(new LockView(names.get(k), readings));
        }
        return views;
    }

    /** Deletes the key on each node that has exactly this value: true, false, or null for a node without an answer. */
    List<Boolean> release(String name, LockValue value) {
        return onAll(threads, nodes, node -> node.release(name, value));
    }

    @Override
    public void close() {
        for (LockNode node : nodes) {
            node.close();
        }
        threads.shutdown();
    }

    /**
     * Locks under a prefix.
     *
     * @param locks in the order of their names
     * @param isCut whether the limit left locks out
     * @param deniedCount keys that are left out because the user may not read them
     * @threading immutable
     */
    record Listing(List<LockView> locks, boolean isCut, int deniedCount) {
    }
}
