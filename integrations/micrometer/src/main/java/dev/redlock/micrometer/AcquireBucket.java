package dev.redlock.micrometer;

import dev.redlock.AcquireTimes;
import dev.redlock.api.AcquireOutcome;
import java.math.BigDecimal;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * A bucket of the times of successful acquisitions, which has all shorter ones too.
 *
 * @param seconds its limit, as the value of the tag {@code le}
 * @param limitNs its limit
 * @threading     immutable
 */
record AcquireBucket(String seconds, long limitNs) {

    static final List<AcquireBucket> ALL = Stream.concat(
            LongStream.of(200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
                    2_000_000, 5_000_000, 10_000_000, 30_000_000)
                    .mapToObj(us -> new AcquireBucket(plain(BigDecimal.valueOf(us, 6)), us * 1_000)),
            Stream.of(new AcquireBucket("+Inf", Long.MAX_VALUE))).toList();

    long count(AcquireTimes times) {
        return times.countUpTo(AcquireOutcome.Kind.ACQUIRED, limitNs);
    }

    /** Without trailing zeros and without an exponent. */
    static String plain(BigDecimal number) {
        return number.stripTrailingZeros().toPlainString();
    }
}
