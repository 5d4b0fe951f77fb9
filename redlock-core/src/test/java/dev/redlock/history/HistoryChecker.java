package dev.redlock.history;

import dev.redlock.history.FencedLockModel.Action;
import dev.redlock.history.FencedLockModel.Verb;
import dev.redlock.history.Linearizability.Operation;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Judges the text of a history, read as its page documents it and with no class of the program. Each resource is judged
 * alone: a history is linearizable if the part of each object is, that is, if each operation has a moment between its
 * call and its end, so that these rules hold in the order of the moments:
 *
 * <ul>
 * <li>{@code ok acquire}: no other lease holds the lock, or only readers do for a {@code reader}, or fewer than 2 for a
 * {@code permit}. A token is greater than all granted before.
 * <li>{@code ok extend}: its lease holds the lock.
 * <li>{@code ok write}: the token was granted, and is not lower than the register. {@code fail write}: the register is
 * greater. {@code ok read}: the value is that of the register.
 * <li>A lease ends at the least of its last {@code until} and the {@code until} of its release, but after its last
 * {@code release} or {@code extend} that is {@code ok}. The end takes effect until the end of the release or, without
 * one, at any later time.
 * <li>Other failed and unknown operations have no rule, with two exceptions: an unknown write may take effect at any
 * later time, or never, and an unknown release ends its lease.
 * </ul>
 */
public final class HistoryChecker {
    private static final int NO_LEASE = -1;

    private final Map<String, List<Operation<Action>>> operations = new TreeMap<>();
    private final Map<Integer, Line> calls = new HashMap<>();
    private final Map<String, Lease> leases = new TreeMap<>();
    private final List<String> malformed = new ArrayList<>();
    private int leaseCount;

    /** One line. */
    private record Line(long timeNs, String process, String type, String operation, String[] resources, String kind,
            long token, long untilNs) {
        static Line of(String text) {
            String[] fields = text.split(" ");
            return new Line(Long.parseLong(fields[0]), fields[1], fields[2], fields[3], fields[4].split(","),
                    fields[5], Long.parseLong(fields[6]), Long.parseLong(fields[7]));
        }

        /** A semaphore and a lock of one name are two objects. */
        String object(String resource) {
            return kind.equals("permit") ? resource + " permits" : resource;
        }
    }

    /** A lease on one resource. */
    private static final class Lease {
        private final int number;
        private final String object;
        private long untilNs;
        private long callNs;

        Lease(int number, String object, long untilNs) {
            this.number = number;
            this.object = object;
            this.untilNs = untilNs;
        }
    }

    private HistoryChecker() {
    }

    /** The violations, one for each object at most; none of a history that is linearizable. */
    public static List<String> violations(List<String> text) {
        HistoryChecker checker = new HistoryChecker();
        text.stream()
                .filter(line -> !line.startsWith("#"))
                .map(Line::of)
                .sorted(Comparator.comparingLong(Line::timeNs))
                .forEach(checker::add);
        checker.calls.values().forEach(call -> checker.complete(call, call, "info", Linearizability.NEVER));
        checker.leases.values()
                .forEach(
                        lease -> checker.add(lease.object, lease.untilNs, Linearizability.NEVER, Verb.END, lease.number,
                                0));
        List<String> found = new ArrayList<>(checker.malformed);
        checker.operations.forEach((object, all) -> {
            Optional<String> why = Linearizability.violation(FencedLockModel::apply, FencedLockModel.FREE, all);
            why.ifPresent(what -> found.add(object + ": " + what));
        });
        return found;
    }

    private void add(Line line) {
        int process = Integer.parseInt(line.process);
        if (line.type.equals("invoke")) {
            if (calls.put(process, line) != null) {
                malformed.add("process " + process + " has two calls at " + line.timeNs);
            }
            return;
        }
        Line call = calls.remove(process);
        if (call == null || !call.operation.equals(line.operation)) {
            malformed.add("process " + process + " has an end without a call at " + line.timeNs);
            return;
        }
        complete(call, line, line.type, line.timeNs);
    }

    private void complete(Line call, Line end, String type, long endNs) {
        for (String resource : call.resources) {
            String object = call.object(resource);
            String holder = call.process + " " + object;
            switch (call.operation) {
                case "acquire" -> acquire(object, holder, call, end, type);
                case "extend" -> extend(object, holder, call, end, type);
                case "release" -> release(object, holder, call, type, endNs);
                case "write" -> write(object, call, type, endNs);
                default -> read(object, call, end, type);
            }
        }
    }

    /** An acquire of unknown outcome has no lease, so nobody relies on it and nothing follows from its effect. */
    private void acquire(String object, String holder, Line call, Line end, String type) {
        if (type.equals("ok")) {
            Verb verb = switch (call.kind) {
                case "reader" -> Verb.ACQUIRE_SHARED;
                case "permit" -> Verb.ACQUIRE_PERMIT;
                default -> Verb.ACQUIRE;
            };
            Lease lease = new Lease(leaseCount++, object, end.untilNs);
            add(object, call.timeNs, end.timeNs, verb, lease.number, end.token);
            if (leases.put(holder, lease) != null) {
                malformed.add(holder + " acquires what it holds, at " + call.timeNs);
            }
        }
    }

    /** If the outcome is not success, the lease is what it was, apart from the end that the line states. */
    private void extend(String object, String holder, Line call, Line end, String type) {
        Lease lease = leases.get(holder);
        if (type.equals("ok")) {
            add(object, call.timeNs, end.timeNs, Verb.EXTEND, lease == null ? NO_LEASE : lease.number, 0);
        }
        if (lease != null && !type.equals("info")) {
            long untilNs = end.untilNs == 0 ? lease.untilNs : end.untilNs;
            lease.untilNs = type.equals("ok") ? Math.max(untilNs, call.timeNs) : untilNs;
        }
    }

    /** The release that succeeded found the lock held. Otherwise the lease had ended with its validity. */
    private void release(String object, String holder, Line call, String type, long endNs) {
        Lease lease = leases.remove(holder);
        if (lease == null) {
            if (type.equals("ok")) {
                add(object, call.timeNs, endNs, Verb.END, NO_LEASE, 0);
            }
            return;
        }
        long untilNs = call.untilNs == 0 ? lease.untilNs : Math.min(lease.untilNs, call.untilNs);
        long fromNs = type.equals("ok") ? call.timeNs : Math.min(call.timeNs, untilNs);
        add(object, fromNs, endNs, Verb.END, lease.number, 0);
    }

    private void write(String object, Line call, String type, long endNs) {
        Verb verb = type.equals("fail") ? Verb.REJECTED_WRITE : Verb.WRITE;
        add(object, call.timeNs, type.equals("info") ? Linearizability.NEVER : endNs, verb, NO_LEASE, call.token);
    }

    private void read(String object, Line call, Line end, String type) {
        if (type.equals("ok")) {
            add(object, call.timeNs, end.timeNs, Verb.READ, NO_LEASE, end.token);
        }
    }

    private void add(String object, long callNs, long returnNs, Verb verb, int lease, long token) {
        operations.computeIfAbsent(object, any -> new ArrayList<>())
                .add(new Operation<>(callNs, returnNs, new Action(verb, lease, token)));
    }
}
