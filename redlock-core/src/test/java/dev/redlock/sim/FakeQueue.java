package dev.redlock.sim;

import dev.redlock.resp.RespValue;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The sorted set in which the scripts of a node order the waiting clients. As in the scripts, the first ten entries are
 * read, and others only if these are dropped.
 */
final class FakeQueue {

    private static final String QUEUE_NAME = ":queue";
    private static final String NOTE_NAME = ":silent";
    private static final String SLOW_MARK = ":slow:";
    private static final String CHANNEL = "redlock:wake:";
    private static final int READ_MAX = 10;
    private static final long EXPIRY_MS = 60_000;
    private static final long NOTE_MS = 10_000;
    private static final long SILENT_MS = 40;
    private static final long SLOW_MS = 400;
    private static final long PLACE_UNKNOWN = 1_048_574;
    private static final long TTL_MS_MAX = (1L << 32) - 1;
    private static final String HELD_WORDS = "hd";
    private static final String FREE_WORDS = "HD";

    private final FakeRedis redis;
    private final String key;
    private final String counter;
    private final String queue;
    private final String note;
    private final String client;
    private List<String> waiting = List.of();
    private boolean isCut;
    private int rounds = 4;
    private boolean hasWritten;

    FakeQueue(FakeRedis redis, String key, String counter, String client) {
        this.redis = redis;
        this.key = key;
        this.counter = counter;
        this.queue = counter + QUEUE_NAME;
        this.note = counter + NOTE_NAME;
        this.client = client;
        read();
    }

    /** Whether a key is a queue, or a note of one, and so no lock. */
    static boolean isOfQueue(String key) {
        return key.contains(FakeRedis.COUNTER_MARK)
                && (key.endsWith(QUEUE_NAME) || key.endsWith(NOTE_NAME) || key.contains(SLOW_MARK));
    }

    /** The members in their order: by score, then by name. */
    static List<String> ordered(Map<String, Long> entries) {
        return entries.entrySet()
                .stream()
                .sorted(Map.Entry.<String, Long>comparingByValue().thenComparing(Map.Entry.comparingByKey()))
                .map(Map.Entry::getKey)
                .toList();
    }

    private void read() {
        Map<String, Long> entries = redis.entries(queue);
        List<String> all = entries == null ? List.of() : ordered(entries);
        waiting = new ArrayList<>(all.subList(0, Math.min(READ_MAX, all.size())));
        isCut = waiting.size() == READ_MAX;
    }

    /**
     * Whether the server executes the next write of the script. One without memory still executes those that need
     * none, and each that follows one of these.
     */
    boolean mayWrite(boolean isMemoryNeeded) {
        hasWritten |= !redis.isRefusingWrites() || !isMemoryNeeded && redis.isOutOfMemory();
        return hasWritten;
    }

    private void drop(int index) {
        if (!remove(waiting.remove(index))) {
            waiting = List.of();
        } else if (isCut && waiting.size() < 2 && rounds > 0) {
            rounds--;
            read();
        }
    }

    private boolean remove(String member) {
        if (!mayWrite(false)) {
            return false;
        }
        Map<String, Long> entries = redis.entries(queue);
        boolean isThere = entries != null && entries.remove(member) != null;
        if (isThere) {
            redis.setEntries(queue, entries, redis.expiresAtMs(queue));
        }
        return isThere;
    }

    private void tell(int from, String words) {
        int index = from;
        while (index < 2 && index < waiting.size()) {
            String member = waiting.get(index);
            if (!member.equals(client) && !member.startsWith("!")
                    && redis.deliver(CHANNEL + member, words.charAt(index) + key) == 0) {
                drop(index);
            } else {
                index++;
            }
        }
    }

    private boolean isOtherFirst() {
        return !waiting.isEmpty() && !waiting.get(0).equals(client);
    }

    private boolean isFree() {
        return redis.find(key) == null;
    }

    private String headEntry() {
        return waiting.isEmpty() ? "" : waiting.get(0) + " " + redis.entries(queue).get(waiting.get(0));
    }

    private String slowNote(String member) {
        return counter + SLOW_MARK + member;
    }

    private void check() {
        String noted = redis.find(note);
        if (headEntry().equals(noted)) {
            String slow = slowNote(waiting.get(0));
            if (redis.pttl(note) <= NOTE_MS - SLOW_MS) {
                if (redis.find(slow) != null && mayWrite(true)) {
                    redis.set(slow, "0", NOTE_MS);
                }
            }
            if (redis.pttl(note) <= NOTE_MS - SILENT_MS && !"1".equals(redis.find(slow))) {
                endNote();
                drop(0);
            }
        }
        tell(0, FREE_WORDS);
        if (isOtherFirst() && !headEntry().equals(noted) && mayWrite(true)) {
            redis.set(note, headEntry(), NOTE_MS);
        }
    }

    /** A script starts: returns whether another client precedes. */
    boolean isPreceded(String mode) {
        if (mode.equals("c") && isOtherFirst() && isFree()) {
            check();
        }
        return !mode.equals("p") && isOtherFirst();
    }

    /** The lock is granted: returns whether others wait. */
    boolean onGrant() {
        if (!waiting.isEmpty() && !isOtherFirst()) {
            drop(0);
            tell(0, HELD_WORDS);
        }
        return !waiting.isEmpty();
    }

    private void endNote() {
        if (mayWrite(false)) {
            redis.delete(note);
        }
    }

    /** Returns the reply of a script whose lock is held for a time; 0 if it refuses nobody. */
    long refusal(String mode, long waitedUs, long ttlMs) {
        if (!waiting.isEmpty() && waiting.get(0).equals(client)) {
            endNote();
        }
        boolean isEntered = enter(mode, waitedUs);
        if (!isEntered && isFree()) {
            return 0;
        }
        int rank = isEntered ? ordered(redis.entries(queue)).indexOf(client) : Integer.MAX_VALUE;
        long place = Math.min(rank, PLACE_UNKNOWN);
        return -((Math.min(ttlMs, TTL_MS_MAX) << 20) + place + 1);
    }

    private boolean enter(String mode, long waitedUs) {
        Map<String, Long> entries = redis.entries(queue);
        if (entries == null || redis.isQueueDenied() || !mayWrite(true)) {
            return false;
        }
        boolean isBack = (mode.equals("e") || mode.equals("c")) && !entries.containsKey(client);
        if (isBack && redis.find(slowNote(client)) == null) {
            redis.set(slowNote(client), "1", EXPIRY_MS);
        }
        entries.merge(client, redis.wallUs() - waitedUs, mode.equals("f") ? (old, score) -> score : Math::min);
        redis.setEntries(queue, entries, redis.wallMs() + EXPIRY_MS);
        redis.touchTrace(counter + FakeRedis.TRACE_NAME, EXPIRY_MS);
        return true;
    }

    /** Returns the reply of the script that ends the entry. */
    long leave() {
        if (!mayWrite(false)) {
            leadNext();
            return 0;
        }
        if (!remove(client)) {
            return 0;
        }
        int index = waiting.indexOf(client);
        if (index == 0 || index == 1) {
            waiting.remove(index);
            if (index == 1 && isFree() && !waiting.get(0).startsWith("!")) {
                check();
            } else {
                tell(index, isFree() ? FREE_WORDS : HELD_WORDS);
            }
        }
        return 1;
    }

    /** The entry stays: wakes the next client that is connected as the head. */
    private void leadNext() {
        List<String> all = ordered(redis.entries(queue));
        int from = all.indexOf(client) + 1;
        String word = isFree() ? "H" : "h";
        for (String member : from == 0 ? List.<String>of() : all.subList(from, Math.min(from + READ_MAX, all.size()))) {
            if (redis.deliver(CHANNEL + member, word + key) != 0) {
                return;
            }
        }
    }

    // ---- commands of sorted sets ------------------------------------------------------------------------------------

    /**
     * A command on a sorted set.
     *
     * @return null if its entries do not say what it replies
     */
    static RespValue command(FakeRedis redis, List<String> words, Map<String, Long> entries) {
        return switch (words.get(0)) {
            case "ZCARD" -> RespValue.integer(entries.size());
            case "ZRANK" -> entries.containsKey(words.get(2))
                    ? RespValue.integer(ordered(entries).indexOf(words.get(2)))
                    : null;
            case "ZSCORE" -> entries.containsKey(words.get(2))
                    ? RespValue.bulk(Long.toString(entries.get(words.get(2))))
                    : null;
            case "ZADD" -> add(redis, words, entries);
            case "ZREM" -> {
                boolean isThere = entries.remove(words.get(2)) != null;
                if (isThere) {
                    redis.setEntries(words.get(1), entries, redis.expiresAtMs(words.get(1)));
                }
                yield RespValue.integer(isThere ? 1 : 0);
            }
            default -> {
                List<String> all = ordered(entries);
                int last = Integer.parseInt(words.get(3));
                int end = last < 0 ? all.size() + last + 1 : Math.min(last + 1, all.size());
                yield RespValue.array(all.subList(Math.min(Integer.parseInt(words.get(2)), end), end)
                        .stream()
                        .map(RespValue::bulk)
                        .toArray(RespValue[]::new));
            }
        };
    }

    /** {@code ZADD key [LT] score member}. One that changes nothing is no change for clients that track the key. */
    private static RespValue add(FakeRedis redis, List<String> words, Map<String, Long> entries) {
        boolean isLesser = words.get(2).equals("LT");
        long score = Long.parseLong(words.get(isLesser ? 3 : 2));
        Map<String, Long> changed = new TreeMap<>(entries);
        changed.merge(words.get(isLesser ? 4 : 3), score, isLesser ? Math::min : (old, given) -> given);
        if (!changed.equals(entries)) {
            redis.setEntries(words.get(1), changed, redis.expiresAtMs(words.get(1)));
        }
        return RespValue.integer(changed.size() - entries.size());
    }
}
