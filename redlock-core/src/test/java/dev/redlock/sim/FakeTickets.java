package dev.redlock.sim;

/** The key with which the scripts of a node order the waiting clients: the last ticket, and the last granted one. */
final class FakeTickets {

    private static final long EXPIRY_MS = 60_000;
    private static final long GRANTED_SIZE = 65_536;
    private static final long COUNT_MAX = (1L << 52) - 1;
    private static final long TTL_MS_MAX = (1L << 32) - 1;
    private static final long PLACE_MAX = 31;

    private final FakeRedis redis;
    private final String key;
    /** How many numbers there are: 32767, or 1023 for sets. */
    private final long tickets;
    private long last;
    private long granted;

    FakeTickets(FakeRedis redis, String key, long tickets) {
        this.redis = redis;
        this.key = key;
        this.tickets = tickets;
    }

    /** @return the reply of a script whose lock is held for a time */
    long refusal(long ticket, long ttlMs) {
        long ttl = Math.min(ttlMs, TTL_MS_MAX);
        if (!add(ticket < 1 ? GRANTED_SIZE : 0)) {
            return -(ttl << 20);
        }
        return -((ttl << 20) + withPlace(ticket < 1 ? last % tickets + 1 : ticket));
    }

    private long withPlace(long number) {
        long place = positionOf(number);
        return number * 32 + (place > waiting() ? 0 : Math.min(place, PLACE_MAX));
    }

    /** The ticket of a set for its resource, and the place: 0 if the key is no count. */
    long ofSet(long ticket, boolean isFirst) {
        if (!add(ticket < 1 ? GRANTED_SIZE : 0)) {
            return 0;
        }
        long found = withPlace(ticket < 1 ? last % tickets + 1 : ticket);
        return isFirst || found % 32 == 0 ? found / 32 * 32 + 1 : found;
    }

    /** @return true if a client without a ticket lets those with one precede */
    boolean isYielding(long ticket) {
        return ticket < 0 && add(0) && waiting() > 0;
    }

    void onGrant(long ticket) {
        if (ticket > 0 && add(0) && positionOf(ticket) <= waiting()) {
            add(ticket - 1 - granted);
        }
    }

    private long positionOf(long ticket) {
        return Math.floorMod(ticket - 1 - granted, tickets);
    }

    private long waiting() {
        return Math.floorMod(last - granted, tickets);
    }

    private boolean add(long change) {
        String text = redis.get(key);
        if (text != null && !text.matches("-?[0-9]{1,18}")) {
            return false;
        }
        long count = (text == null ? 0 : Long.parseLong(text)) + change;
        redis.set(key, Long.toString(count), EXPIRY_MS);
        if (count < 0) {
            return false;
        }
        if (count > COUNT_MAX) {
            redis.delete(key);
            return false;
        }
        last = count / GRANTED_SIZE;
        granted = count % GRANTED_SIZE;
        return true;
    }
}
