package dev.redlock.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.history.FencedLockModel.Action;
import dev.redlock.history.FencedLockModel.State;
import dev.redlock.history.FencedLockModel.Verb;
import dev.redlock.history.Linearizability.Operation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The checker accepts random legal histories, rejects each kind of corruption of them, and agrees with a search of all
 * orders. {@code -Dhistory.seed} in the test's JVM repeats a run.
 */
@Tag("long")
class RandomHistoryTest {
    private static final int HISTORIES = 200;
    private static final int STEPS = 600;
    private static final int INTRUDER = 99_999;
    private static final int SMALL_HISTORIES = 5000;

    private final long seed = Long.getLong("history.seed", System.nanoTime());
    private final Random random = new Random(seed);
    private final List<String> lines = new ArrayList<>();

    /** The call and the end of one operation, as fields of their lines. */
    private record Ended(String[] call, String[] end, int endLine) {
        long callNs() {
            return Long.parseLong(call[0]);
        }

        long endNs() {
            return Long.parseLong(end[0]);
        }

        long token() {
            return Long.parseLong(end[6]);
        }

        boolean is(String operation, String type) {
            return end[3].equals(operation) && end[2].equals(type);
        }
    }

    @Test
    void legalHistoriesAreAcceptedAndCorruptedOnesRejected() {
        Map<String, Integer> rejected = new HashMap<>();
        for (int i = 0; i < HISTORIES; i++) {
            lines.clear();
            lines.addAll(RandomHistory.of(random, STEPS));
            assertEquals(List.of(), HistoryChecker.violations(lines), () -> "seed " + seed + "\n"
                    + String.join("\n", lines));
            reject("equal or falling token", oldToken(), rejected);
            reject("second holder", secondHolder(), rejected);
            reject("lost write", afterTwoWrites("read"), rejected);
            reject("late write", afterTwoWrites("write"), rejected);
            reject("foreign release", foreignRelease(), rejected);
        }
        assertEquals(5, rejected.size(), rejected::toString);
        assertTrue(rejected.values().stream().allMatch(count -> count > HISTORIES / 2), rejected::toString);
    }

    private void reject(String corruption, Optional<List<String>> corrupted, Map<String, Integer> rejected) {
        corrupted.ifPresent(history -> {
            assertFalse(HistoryChecker.violations(history).isEmpty(), () -> corruption + " is accepted, seed " + seed
                    + "\n" + String.join("\n", history));
            rejected.merge(corruption, 1, Integer::sum);
        });
    }

    /** The later of two grants gets the token of the earlier one, or a lower one. */
    private Optional<List<String>> oldToken() {
        List<Ended> grants = ended().stream().filter(each -> each.is("acquire", "ok") && each.token() > 0).toList();
        return pick(grants).flatMap(
                early -> pick(grants.stream().filter(late -> late.callNs() > early.endNs()).toList()).map(late -> {
                    List<String> changed = new ArrayList<>(lines);
                    String[] fields = late.end().clone();
                    fields[6] = Long.toString(early.token() - random.nextInt((int) Math.min(2, early.token())));
                    changed.set(late.endLine(), String.join(" ", fields));
                    return changed;
                }));
    }

    /** Another process acquires within a holding. */
    private Optional<List<String>> secondHolder() {
        return pick(ended().stream().filter(this::isHeldAfterIts).toList()).map(
                grant -> withOperation(grant.endNs(), "acquire", 0, grant.endNs() + 3));
    }

    private boolean isHeldAfterIts(Ended grant) {
        long neededNs = grant.endNs() + RandomHistory.GAP_NS / 2;
        Optional<String[]> release = lines.stream()
                .map(line -> line.split(" "))
                .filter(line -> line[1].equals(grant.end()[1]) && line[2].equals("invoke") && line[3].equals("release")
                        && Long.parseLong(line[0]) > grant.endNs())
                .findFirst();
        return grant.is("acquire", "ok") && grant.token() > 0 && Long.parseLong(grant.end()[7]) >= neededNs
                && release.stream().allMatch(line -> Long.parseLong(line[7]) >= neededNs);
    }

    /** After two accepted writes of different tokens, the lower one is read, or is accepted again. */
    private Optional<List<String>> afterTwoWrites(String operation) {
        List<Ended> writes = ended().stream().filter(each -> each.is("write", "ok")).toList();
        return pick(writes).flatMap(
                high -> pick(writes.stream().filter(low -> low.token() < high.token()).toList())
                        .map(low -> withOperation(high.endNs(), operation, low.token(), 0)));
    }

    private Optional<List<String>> foreignRelease() {
        return pick(ended()).map(any -> withOperation(any.endNs(), "release", 0, 0));
    }

    private List<String> withOperation(long afterNs, String operation, long token, long untilNs) {
        List<String> changed = new ArrayList<>(lines);
        String rest = " " + operation + " a plain " + token + " ";
        changed.add(afterNs + 1 + " " + INTRUDER + " invoke" + rest + "0 -");
        changed.add(afterNs + 2 + " " + INTRUDER + " ok" + rest + untilNs + " -");
        return changed;
    }

    private <T> Optional<T> pick(List<T> list) {
        return list.isEmpty() ? Optional.empty() : Optional.of(list.get(random.nextInt(list.size())));
    }

    private List<Ended> ended() {
        Map<String, String[]> calls = new HashMap<>();
        List<Ended> ended = new ArrayList<>();
        for (int i = 0; i < lines.size(); i++) {
            String[] fields = lines.get(i).split(" ");
            if (fields[2].equals("invoke")) {
                calls.put(fields[1], fields);
            } else {
                ended.add(new Ended(calls.remove(fields[1]), fields, i));
            }
        }
        return ended;
    }

    @Test
    void searchAgreesWithTheSearchOfAllOrders() {
        int legalCount = 0;
        for (int i = 0; i < SMALL_HISTORIES; i++) {
            List<Operation<Action>> operations = smallHistory();
            boolean isLegal = hasOrder(FencedLockModel.FREE, operations, new HashSet<>());
            assertEquals(isLegal,
                    Linearizability.violation(FencedLockModel::apply, FencedLockModel.FREE, operations).isEmpty(),
                    () -> "seed " + seed + ": " + operations);
            legalCount += isLegal ? 1 : 0;
        }
        assertTrue(legalCount > SMALL_HISTORIES / 20 && legalCount < SMALL_HISTORIES * 19 / 20, "legal: " + legalCount);
    }

    /** Actions that fit together more often than by chance. */
    private List<Operation<Action>> smallHistory() {
        List<Operation<Action>> operations = new ArrayList<>();
        int count = 2 + random.nextInt(5);
        while (operations.size() < count) {
            int lease = random.nextInt(3);
            add(operations, random.nextBoolean() ? Verb.ACQUIRE : Verb.ACQUIRE_SHARED, lease);
            add(operations, random.nextBoolean() ? Verb.END : Verb.EXTEND, lease);
            add(operations, List.of(Verb.WRITE, Verb.READ, Verb.REJECTED_WRITE).get(random.nextInt(3)), lease);
        }
        return operations;
    }

    private void add(List<Operation<Action>> operations, Verb verb, int lease) {
        long callNs = random.nextInt(12);
        long returnNs = random.nextInt(6) == 0 ? Linearizability.NEVER : callNs + random.nextInt(10);
        long token = verb == Verb.ACQUIRE_SHARED ? 0 : random.nextInt(3);
        operations.add(new Operation<>(callNs, returnNs, new Action(verb, lease, token)));
    }

    private static boolean hasOrder(State state, List<Operation<Action>> all, Set<Integer> done) {
        boolean isComplete = true;
        for (int i = 0; i < all.size(); i++) {
            isComplete &= done.contains(i) || all.get(i).returnNs() == Linearizability.NEVER;
        }
        for (int i = 0; i < all.size() && !isComplete; i++) {
            Optional<State> next = FencedLockModel.apply(state, all.get(i).action());
            if (!done.contains(i) && next.isPresent() && isNext(all, done, all.get(i))) {
                Set<Integer> more = new HashSet<>(done);
                more.add(i);
                isComplete = hasOrder(next.get(), all, more);
            }
        }
        return isComplete;
    }

    /** No operation that is still missing had returned before this one was called. */
    private static boolean isNext(List<Operation<Action>> all, Set<Integer> done, Operation<Action> candidate) {
        for (int i = 0; i < all.size(); i++) {
            if (!done.contains(i) && all.get(i).returnNs() < candidate.callNs()) {
                return false;
            }
        }
        return true;
    }
}
