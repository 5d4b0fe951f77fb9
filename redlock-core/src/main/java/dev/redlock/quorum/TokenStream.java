package dev.redlock.quorum;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.function.LongSupplier;

/**
 * Draws tokens from a {@link KeyStream} without allocating. The time of the draw is added to each token (XOR), which
 * keeps it as random as the key stream.
 *
 * @threading event-loop-confined: one stream per conductor
 */
public final class TokenStream {

    /** Tokens per refill: enough to spread the cost of a call, and few enough that a refill takes microseconds. */
    static final int TOKENS_PER_REFILL = 64;
    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

    private final byte[] buffer = new byte[TOKENS_PER_REFILL * Token.LENGTH];
    private final KeyStream keys;
    private int index = buffer.length;

    /**
     * A stream with a first key.
     *
     * @param seedSource returns fresh bytes; may be deterministic in tests
     * @param wallClock  a clock that continues between snapshot and restore, in any unit
     * @param nowNs      monotonic now
     */
    public TokenStream(SeedSource seedSource, LongSupplier wallClock, long nowNs) {
        this(seedSource, wallClock, nowNs, KeyStream.REFILLS_PER_KEY);
    }

    /** For tests: a stream that replaces its key sooner. */
    TokenStream(SeedSource seedSource, LongSupplier wallClock, long nowNs, int refillsPerKey) {
        this.keys = new KeyStream(seedSource, wallClock, nowNs, refillsPerKey);
    }

    /**
     * Draws the next token. Allocates nothing, except for a new key.
     *
     * @param into  filled with twenty fresh bytes
     * @param nowNs monotonic now
     */
    public void next(Token into, long nowNs) {
        if (index == buffer.length || nowNs - keys.keyedNs >= KeyStream.REKEY_NS) {
            keys.fill(buffer, nowNs);
            index = 0;
        }
        System.arraycopy(buffer, index, into.bulk, Token.START, Token.LENGTH);
        LONGS.set(into.bulk, Token.START, (long) LONGS.get(buffer, index) ^ nowNs);
        index += Token.LENGTH;
    }

    /** Draws the next token from a new key: this process may be a copy. */
    public void rekey() {
        keys.endKey();
        index = buffer.length;
    }

    @Override
    public String toString() {
        return "TokenStream{ChaCha20}";
    }
}
