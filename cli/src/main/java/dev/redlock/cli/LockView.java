package dev.redlock.cli;

import dev.redlock.engine.LockValue;
import dev.redlock.resp.SafeText;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * What all nodes have under the name of one lock.
 *
 * @param name     the key, one char for each byte
 * @param readings one for each node; null for a node without an answer
 * @threading immutable
 */
record LockView(String name, List<KeyReading> readings) {

    /**
     * How much of a quorum a value has.
     *
     * @threading immutable
     */
    enum State {
        /** A quorum of nodes has it. */
        HELD,
        /** It may have a quorum together with nodes that do not answer. */
        UNCLEAR,
        /** It has no quorum: the rest of a lock, or one that is being acquired or released. */
        NO_QUORUM
    }

    /** Copies the list, which contains nulls. */
    LockView {
        readings = new ArrayList<>(readings);
    }

    int quorum() {
        return readings.size() / 2 + 1;
    }

    /** The name for people: escaped. */
    String shownName() {
        return SafeText.of(new String(name.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8));
    }

    /** The values and their nodes, as indexes; the value with most nodes first. */
    Map<LockValue, List<Integer>> holders() {
        Map<LockValue, List<Integer>> found = new LinkedHashMap<>();
        for (int i = 0; i < readings.size(); i++) {
            KeyReading reading = readings.get(i);
            if (reading != null && reading.value() != null) {
                found.computeIfAbsent(reading.value(), value -> new ArrayList<>()).add(i);
            }
        }
        Map<LockValue, List<Integer>> sorted = new LinkedHashMap<>();
        found.entrySet()
                .stream()
                .sorted(Comparator.comparing(entry -> -entry.getValue().size()))
                .forEach(entry -> sorted.put(entry.getKey(), entry.getValue()));
        return sorted;
    }

    private int unknownCount() {
        return (int) readings.stream().filter(Objects::isNull).count();
    }

    State stateOf(LockValue value) {
        int votes = holders().getOrDefault(value, List.of()).size();
        if (votes >= quorum()) {
            return State.HELD;
        }
        return votes + unknownCount() >= quorum() ? State.UNCLEAR : State.NO_QUORUM;
    }

    /** Whether the client that has it may retain the lock: nobody uses it then. */
    boolean mayBeRetained(LockValue value) {
        return holders().getOrDefault(value, List.of()).stream().anyMatch(i -> readings.get(i).mayBeRetained());
    }

    /** All nodes that answer have the same. */
    boolean isUnanimous() {
        return readings.stream()
                .filter(Objects::nonNull)
                .map(reading -> reading.value() == null ? String.valueOf(reading.problem()) : reading.value())
                .distinct()
                .count() <= 1;
    }

    boolean isFree() {
        return readings.stream().noneMatch(reading -> reading != null && reading.isTaken());
    }

    /**
     * When the value loses its quorum, or its last key if it has none: milliseconds, {@link KeyReading#NO_EXPIRY} for
     * never.
     */
    long remainingMs(LockValue value) {
        List<Long> ttls = holders().get(value)
                .stream()
                .map(i -> readings.get(i).isForever() ? Long.MAX_VALUE : readings.get(i).ttlMs())
                .sorted(Comparator.reverseOrder())
                .toList();
        long ttlMs = ttls.get(ttls.size() >= quorum() ? quorum() - 1 : 0);
        return ttlMs == Long.MAX_VALUE ? KeyReading.NO_EXPIRY : ttlMs;
    }

    /** The longest remaining time of any key with the value, when the last of them is gone. */
    long longestMs(LockValue value) {
        boolean isForever = holders().get(value).stream().anyMatch(i -> readings.get(i).isForever());
        return isForever
                ? KeyReading.NO_EXPIRY
                : holders().get(value).stream().mapToLong(i -> readings.get(i).ttlMs()).max().orElse(0);
    }

    /** The highest fencing counter; null if no node has one. */
    String fence() {
        return readings.stream()
                .filter(reading -> reading != null && reading.fence() != null)
                .map(KeyReading::fence)
                .max(Comparator.comparingInt(String::length).thenComparing(Comparator.naturalOrder()))
                .orElse(null);
    }

    /** What a person should know, one sentence each. */
    List<String> notes() {
        List<String> notes = new ArrayList<>();
        Map<LockValue, List<Integer>> holders = holders();
        if (holders.size() > 1) {
            notes.add("the nodes have " + holders.size() + " different values");
        }
        holders.forEach((value, nodes) -> {
            long forever = nodes.stream().filter(i -> readings.get(i).isForever()).count();
            if (forever > 0) {
                notes.add(value.id() + " never expires on " + Counted.of(forever, "node"));
            }
            if (mayBeRetained(value)) {
                notes.add(value.id() + " may be retained: its client then keeps it, and nobody uses it");
            }
            if (!value.isToken()) {
                notes.add(value.id() + " is no value of redlock: another program has set it");
            }
        });
        readings.stream()
                .filter(reading -> reading != null && reading.problem() != null)
                .map(KeyReading::problem)
                .distinct()
                .forEach(problem -> notes.add(problem + ", on " + Counted.of(countOf(problem), "node")));
        return notes;
    }

    private long countOf(String problem) {
        return readings.stream().filter(reading -> reading != null && problem.equals(reading.problem())).count();
    }

}
