package dev.redlock.sim;

/** The key with which the scripts of sets order the waiting clients: the last ticket, and the last granted one. */
final class FakeTickets {

    private static final long EXPIRY_MS = 60_000;
    private static final long GRANTED_SIZE = 65_536;
    private static final long COUNT_MAX = (1L << 52) - 1;
    private static final long PLACE_MAX = 31;
    /** How many numbers there are. */
    private static final long TICKETS = 1023;

    private final FakeRedis redis;
    private final String key;
    private long last;
    private long granted;

    FakeTickets(FakeRedis redis, String key) {
        this.redis = redis;
        this.key = key;
    }

    private long withPlace(long number) {
        long place = positionOf(number);
        return number * 32 + (place > waiting() ? 0 : Math.min(place, PLACE_MAX));
    }

    /** The ticket for a resource, and the place: 0 if the key is no count. */
    long ofSet(long ticket, boolean isFirst) {
        if (!add(ticket < 1 ? GRANTED_SIZE : 0)) {
            return 0;
        }
        long found = withPlace(ticket < 1 ? last % TICKETS + 1 : ticket);
        return isFirst || found % 32 == 0 ? found / 32 * 32 + 1 : found;
    }

    void onGrant(long ticket) {
        if (ticket > 0 && add(0) && positionOf(ticket) <= waiting()) {
            add(ticket - 1 - granted);
        }
    }

    private long positionOf(long ticket) {
        return Math.floorMod(ticket - 1 - granted, TICKETS);
    }

    private long waiting() {
        return Math.floorMod(last - granted, TICKETS);
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
