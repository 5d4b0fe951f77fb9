package dev.redlock.sim;

import java.util.List;
import java.util.function.Predicate;

/** A command of a set of resources on a model node: what the scripts {@code *_set.lua} do. */
final class FakeSet {

    private static final String RESERVATION_MARK = ":redlock:reservation";
    private static final long RESERVATION_MS = 300;
    private static final long TTL_MAX = (1L << 31) - 1;
    private static final int ORDER_BITS = 22;
    private static final int TICKET_BITS = 12;
    private static final int POSITION_BITS = 5;

    private final FakeRedis redis;
    private final List<String> keys;
    private final List<String> counters;
    private final List<String> arguments;

    /** A command with its keys, then their counters if it has some, and the arguments after the token. */
    FakeSet(FakeRedis redis, List<String> all, boolean hasCounters, List<String> arguments) {
        int count = hasCounters ? all.size() / 2 : all.size();
        this.redis = redis;
        this.keys = all.subList(0, count);
        this.counters = all.subList(count, all.size());
        this.arguments = arguments;
    }

    List<String> keys() {
        return keys;
    }

    long run(String command, String token) {
        return switch (command) {
            case "acquire" -> acquire(token);
            case "acquire_fenced" -> acquireFenced(token);
            case "release" -> release(token);
            case "release_fenced" -> releaseFenced(token);
            case "extend" -> extend(token);
            case "raise" -> raise(token);
            case "check" -> isOurs(token) ? 1 : 0;
            case "remaining_ttl" -> remainingTtl();
            default -> throw new IllegalStateException("the model has no script " + command + " of sets");
        };
    }

    private long argument(int index) {
        return Long.parseLong(arguments.get(index));
    }

    private boolean isFree() {
        // EXISTS reads every key.
        return keys.stream().filter(key -> redis.read(key) != null).count() == 0;
    }

    private long acquire(String token) {
        if (!mayTake()) {
            return refusal();
        }
        take(token);
        useTickets();
        return 1;
    }

    private boolean mayTake() {
        return isFree() && reservationLeft() < 1;
    }

    private void take(String token) {
        for (String key : keys) {
            redis.set(key, token, argument(0));
            if (reservation().equals(redis.get(key + RESERVATION_MARK))) {
                redis.delete(key + RESERVATION_MARK);
            }
        }
    }

    private String reservation() {
        return arguments.get(counters.isEmpty() ? 1 : 3);
    }

    /** The remaining ttl of the reservation of somebody else; 0 if there is none, or the ttl of a foreign key. */
    private long reservationLeft(String key) {
        String found = redis.read(key + RESERVATION_MARK);
        boolean isForeign = found == null || !FakeRedis.typeOf(found).equals("string");
        long left = isForeign || found.equals(reservation()) ? 0 : redis.pttl(key + RESERVATION_MARK);
        return left <= RESERVATION_MS ? Math.max(0, left) : 0;
    }

    /** Whether it leaves its own one: if not, it may still respect those of others. */
    private boolean isReservationLeft() {
        return !reservation().isEmpty() && !reservation().equals("?");
    }

    private List<String> keysOfReservation() {
        return reservation().isEmpty() ? List.of() : keys;
    }

    private long reservationLeft() {
        return keysOfReservation().stream().mapToLong(this::reservationLeft).max().orElse(0);
    }

    /** On the keys before the first one with the reservation of somebody else, or for which another client precedes. */
    private void leaveReservation(int awaited) {
        for (String key : isReservationLeft() ? keys : List.<String>of()) {
            if (reservationLeft(key) > 0 || keys.indexOf(key) == awaited - 1) {
                return;
            }
            if (redis.get(key + RESERVATION_MARK) == null) {
                redis.set(key + RESERVATION_MARK, reservation(), RESERVATION_MS);
            }
        }
    }

    private long refusal() {
        long longest = remainingTtl();
        if (longest == -1 || longest >= TTL_MAX) {
            int number = number(key -> redis.pttl(key) == -1 || redis.pttl(key) >= TTL_MAX);
            return -(TTL_MAX << ORDER_BITS | number << POSITION_BITS);
        }
        int taken = number(key -> redis.get(key) != null);
        int number = taken > 0 ? taken : number(key -> keysOfReservation().contains(key) && reservationLeft(key) > 0);
        long left = Math.max(0, Math.max(longest, reservationLeft()));
        long order = order(number);
        leaveReservation(order % 32 > 1 && ticket(number) == 0 ? number : 0);
        boolean isFirst = order > 0 && reservation().equals(redis.get(keys.get(number - 1) + RESERVATION_MARK));
        order = isFirst ? order / 32 * 32 + 1 : order;
        return -((left << ORDER_BITS) + (number << POSITION_BITS) + order);
    }

    private FakeTickets tickets(int number) {
        return new FakeTickets(redis, keys.get(number - 1) + RESERVATION_MARK + ":tickets");
    }

    /** The ticket for the key that refuses, and the place. */
    private long order(int number) {
        if (number == 0 || ticket(number) < 0) {
            return 0;
        }
        boolean isFirst = reservation().equals(redis.get(keys.get(number - 1) + RESERVATION_MARK));
        long found = tickets(number).ofSet(ticket(number), isFirst);
        return found / 32 * (1 << TICKET_BITS) + found % 32;
    }

    private void useTickets() {
        for (int number = 1; number <= keys.size(); number++) {
            tickets(number).onGrant(ticket(number));
        }
    }

    private long ticket(int number) {
        int index = (counters.isEmpty() ? 1 : 3) + number;
        return index < arguments.size() ? argument(index) : -1;
    }

    /** The number of the first key of some, from 1; 0 for none. */
    private int number(Predicate<String> isOne) {
        return keys.stream().filter(isOne).findFirst().map(key -> 1 + keys.indexOf(key)).orElse(0);
    }

    private long remainingTtl() {
        long longest = -2;
        for (String key : keys) {
            redis.read(key);
            long left = redis.pttl(key);
            if (left == -1) {
                return -1;
            }
            longest = Math.max(longest, left);
        }
        return longest;
    }

    private long acquireFenced(String token) {
        if (!mayTake()) {
            return refusal();
        }
        long value = argument(2);
        for (String counter : counters) {
            String found = redis.read(counter);
            if (found != null && !found.matches("[0-9]{1,18}")) {
                return FakeRedis.COUNTER_ENDED;
            }
            value = Math.max(value, redis.countOf(counter) == 0 ? redis.counterSeed() : redis.countOf(counter) + 1);
        }
        if (value > FakeRedis.COUNTER_MAX) {
            return FakeRedis.COUNTER_ENDED;
        }
        writeCounters(value, 1);
        take(token);
        useTickets();
        return redis.fenced(value);
    }

    private void writeCounters(long value, int ttlArgument) {
        counters.forEach(counter -> redis.set(counter, Long.toString(value), argument(ttlArgument)));
    }

    private boolean isOurs(String token) {
        return keys.stream().filter(key -> token.equals(redis.read(key))).count() == keys.size();
    }

    private long release(String token) {
        long count = keys.stream().filter(key -> token.equals(redis.read(key)) && redis.delete(key)).count();
        return count == keys.size() ? 1 : -count;
    }

    private long releaseFenced(String token) {
        long reply = release(token);
        for (String counter : counters) {
            if (redis.isBelow(counter, argument(0))) {
                redis.set(counter, Long.toString(argument(0)), argument(1));
            }
        }
        return reply;
    }

    private long extend(String token) {
        if (keys.stream().anyMatch(key -> redis.read(key) != null && !token.equals(redis.read(key)))) {
            return 0;
        }
        boolean isWhole = isOurs(token);
        for (String key : keys) {
            if (redis.find(key) == null) {
                redis.set(key, token, argument(0));
            } else {
                redis.renew(key, token, argument(0));
            }
        }
        return isWhole ? 1 : 2;
    }

    private long raise(String token) {
        boolean isLower = counters.stream()
                .allMatch(counter -> redis.isCount(counter) && redis.countOf(counter) <= argument(0)
                        && argument(0) <= FakeRedis.COUNTER_MAX);
        if (!isOurs(token) || !isLower) {
            return 0;
        }
        writeCounters(argument(0), 1);
        return 1;
    }
}
