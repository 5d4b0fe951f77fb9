package dev.redlock.sim;

import java.util.Collections;
import java.util.List;
import java.util.Map;

/** A command of a reader or writer on a model node: what the scripts {@code *_read.lua} and {@code *_write.lua} do. */
final class FakeReadWrite {

    private final FakeRedis redis;
    private final String key;
    private final String counter;
    private final List<String> arguments;

    /** A command with its key, its counter if it has one, and the arguments after the token. */
    FakeReadWrite(FakeRedis redis, List<String> keys, List<String> arguments) {
        this.redis = redis;
        this.key = keys.get(0);
        this.counter = keys.size() > 1 ? keys.get(1) : null;
        this.arguments = arguments;
    }

    long run(String script, String token) {
        return switch (script) {
            case "acquire_read" -> acquireRead(token);
            case "extend_read" -> extendRead(token);
            case "shorten_read" -> shortenRead(token);
            case "release_read" -> releaseRead(token);
            case "check_read" -> isHeld(redis.entries(key), token) ? 1 : 0;
            case "acquire_write", "acquire_fenced_write" -> acquireWrite(token);
            case "release_write" -> releaseWrite(token);
            case "release_fenced_write" -> {
                releaseFenced();
                yield releaseWrite(token);
            }
            default -> throw new IllegalStateException("the model does not know script " + script);
        };
    }

    private long ttlMs() {
        return Long.parseLong(arguments.get(0));
    }

    /** Reads a key, which registers a tracking connection. */
    private Map<String, Long> pruned() {
        Map<String, Long> entries = redis.entries(key);
        redis.read(key);
        if (entries != null && entries.entrySet().removeIf(this::isExpired)) {
            write(entries);
            redis.read(key);
        }
        return entries;
    }

    private boolean isExpired(Map.Entry<String, Long> entry) {
        boolean isExpired = Math.abs(entry.getValue()) <= redis.wallMs();
        if (isExpired) {
            redis.onEntryExpired(entry.getKey());
        }
        return isExpired;
    }

    private void write(Map<String, Long> entries) {
        long lastMs = entries.values().stream().mapToLong(Math::abs).max().orElse(0);
        redis.setEntries(key, entries, lastMs);
    }

    private boolean isReserved(Map<String, Long> entries) {
        return entries.values().stream().anyMatch(score -> score < -redis.wallMs());
    }

    private boolean isHeld(Map<String, Long> entries, String token) {
        return entries != null && entries.getOrDefault(token, 0L) > redis.wallMs();
    }

    /** The key of readers always expires. */
    private boolean isForeign() {
        return redis.find(key) != null && redis.pttl(key) == -1;
    }

    private long acquireRead(String token) {
        Map<String, Long> entries = isForeign() ? null : pruned();
        if (entries == null) {
            return redis.refusal(key);
        }
        if (isReserved(entries)) {
            return Collections.min(entries.values()) + redis.wallMs();
        }
        if (entries.putIfAbsent(token, redis.wallMs() + ttlMs()) != null) {
            return 0;
        }
        write(entries);
        return 1;
    }

    private long extendRead(String token) {
        Map<String, Long> entries = redis.entries(key);
        redis.read(key);
        if (entries == null || !isHeld(entries, token) && isReserved(entries)
                || !isHeld(entries, token) && isForeign()) {
            return 0;
        }
        boolean isHeld = isHeld(entries, token);
        entries.merge(token, redis.wallMs() + ttlMs(), Math::max);
        redis.onExtension(key);
        write(entries);
        return isHeld ? 1 : 2;
    }

    private long shortenRead(String token) {
        Map<String, Long> entries = redis.entries(key);
        redis.read(key);
        if (!isHeld(entries, token)) {
            return 0;
        }
        entries.merge(token, redis.wallMs() + ttlMs(), Math::min);
        write(entries);
        return 1;
    }

    private long releaseRead(String token) {
        Map<String, Long> entries = redis.entries(key);
        redis.read(key);
        boolean isHeld = isHeld(entries, token);
        if (entries == null || entries.remove(token) == null) {
            return 0;
        }
        write(entries);
        pruned();
        return isHeld ? 1 : -1;
    }

    private long acquireWrite(String token) {
        Map<String, Long> entries = isForeign() ? null : pruned();
        if (entries == null) {
            return redis.refusal(key);
        }
        long lastMs = entries.isEmpty() ? 0 : Collections.max(entries.values());
        if (lastMs <= 0) {
            redis.delete(key);
            if (counter != null) {
                return redis.acquireFenced(key, counter, token, ttlMs(), Long.parseLong(arguments.get(1)),
                        Long.parseLong(arguments.get(2)));
            }
            redis.set(key, token, ttlMs());
            return 1;
        }
        String reservation = arguments.get(arguments.size() - 1);
        if (!reservation.isEmpty() && -entries.getOrDefault(reservation, 0L) < redis.wallMs() + ttlMs() / 2) {
            entries.put(reservation, -(redis.wallMs() + ttlMs()));
            write(entries);
            redis.read(key);
        }
        return redis.wallMs() - lastMs;
    }

    private long releaseWrite(String token) {
        redis.read(key);
        Map<String, Long> entries = redis.entries(key);
        if (entries != null) {
            if (entries.remove(token) == null) {
                return 0;
            }
            write(entries);
            return -1;
        }
        return redis.deleteIfEqual(key, token);
    }

    private void releaseFenced() {
        long highest = ttlMs();
        if (redis.isBelow(counter, highest)) {
            redis.set(counter, Long.toString(highest), Long.parseLong(arguments.get(1)));
        }
    }
}
