package dev.redlock.quorum;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.function.LongSupplier;
import javax.crypto.Cipher;
import javax.crypto.spec.ChaCha20ParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * An endless stream of tokens: the key stream of the JDK's ChaCha20, made in bulk and handed out twenty bytes at a time
 * without allocating. The time of the draw is added to each token (XOR), which leaves it as random as the key stream
 * is.
 *
 * <p>The key is replaced by a new one with the first draw that is {@value #REKEY_MS} ms later, after {@link #rekey} or
 * after {@value #REFILLS_PER_KEY} refills. A new key is the SHA-256 of 32 fresh bytes of the seed source, the monotonic
 * and the wall clock, and 32 bytes of the key stream before.
 *
 * <p>Copies of one process (a virtual machine that was restored twice from a snapshot, a checkpoint that was restored
 * twice) have the same key until they replace it. What follows:
 * <ul>
 * <li>Guarantee: from the replacement on the tokens of two copies have nothing in common, if the seed source gave them
 * different bytes or if they drew at different times, by the nanosecond or by the wall clock. The client calls {@link
 * #rekey} whenever a node is connected, and a restored copy cannot go on with the connections of the original: so what
 * it sends to a node carries tokens from behind the replacement.
 * <li>Until then the n-th tokens of two copies are equal only if both were drawn in the same nanosecond of the
 * monotonic clock.
 * <li>Not guaranteed: anything about tokens that were drawn before the snapshot. A lease that is held at that time is
 * held, with the same token, by each copy.
 * </ul>
 *
 * <p>The block counter of ChaCha20 has 32 bits (RFC 8439), 256 GiB of key stream: {@value #REFILLS_PER_KEY} refills
 * stay far below. Bytes that were handed out are wiped from the buffer at the next refill.
 *
 * @threading event-loop-confined: one stream per conductor
 */
public final class TokenStream {

    /** Tokens made at once: large enough to spread the cost of a call, small enough that a refill is microseconds. */
    static final int TOKENS_PER_REFILL = 64;
    /** Refills under one key: 2^20 tokens, 20 MiB. */
    static final int REFILLS_PER_KEY = 1 << 14;
    /** A new key costs microseconds and a few hundred bytes of garbage. */
    static final int REKEY_MS = 1_000;

    private static final long REKEY_NS = REKEY_MS * 1_000_000L;
    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle INTS = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final int KEY_LENGTH = 32;
    private static final int NONCE_LENGTH = 12;

    private final byte[] zeros = new byte[TOKENS_PER_REFILL * Token.LENGTH];
    private final byte[] buffer = new byte[TOKENS_PER_REFILL * Token.LENGTH];
    private final byte[] key = new byte[KEY_LENGTH];
    private final byte[] nonce = new byte[NONCE_LENGTH];
    private final ByteBuffer times = ByteBuffer.allocate(2 * Long.BYTES);
    private final SeedSource seedSource;
    private final LongSupplier wallClock;
    private final int refillsPerKey;
    private final MessageDigest digest;
    private final Cipher cipher;
    private int index = buffer.length;
    private int refillsLeft;
    private long keyedNs;
    private boolean hasKey;

    /**
     * A stream with a first key.
     *
     * @param seedSource where fresh bytes come from; tests may give a deterministic one
     * @param wallClock  a clock that goes on while a snapshot lies around, in any unit
     * @param nowNs      monotonic now
     */
    public TokenStream(final SeedSource seedSource, final LongSupplier wallClock, final long nowNs) {
        this(seedSource, wallClock, nowNs, REFILLS_PER_KEY);
    }

    /** A stream that draws a new key sooner: the boundary is too far away for a test otherwise. */
    TokenStream(final SeedSource seedSource, final LongSupplier wallClock, final long nowNs, final int refillsPerKey) {
        this.seedSource = seedSource;
        this.wallClock = wallClock;
        this.refillsPerKey = refillsPerKey;
        try {
            this.cipher = Cipher.getInstance("ChaCha20");
            this.digest = MessageDigest.getInstance("SHA-256");
        } catch (final GeneralSecurityException e) {
            throw new IllegalStateException("this JDK offers no ChaCha20 or no SHA-256, which tokens are made by", e);
        }
        replaceKey(nowNs);
    }

    /**
     * Draws the next token. Allocates nothing, except for a new key.
     *
     * @param into  filled with twenty fresh bytes
     * @param nowNs monotonic now
     */
    public void next(final Token into, final long nowNs) {
        if (index == buffer.length || nowNs - keyedNs >= REKEY_NS) {
            refill(nowNs);
        }
        into.set((long) LONGS.get(buffer, index) ^ nowNs, (long) LONGS.get(buffer, index + 8),
                (int) INTS.get(buffer, index + 16));
        index += Token.LENGTH;
    }

    /** The next token comes from a new key: this process may be a copy. */
    public void rekey() {
        refillsLeft = 0;
        index = buffer.length;
    }

    private void refill(final long nowNs) {
        if (refillsLeft == 0 || nowNs - keyedNs >= REKEY_NS) {
            try {
                replaceKey(nowNs);
            } catch (final RuntimeException | Error e) {
                // The key that there is, is as secret as before: better than no lock. The next try comes with its time.
                keyedNs = nowNs;
                refillsLeft = refillsPerKey;
            }
        }
        refillsLeft--;
        makeKeyStream(buffer, buffer.length);
        index = 0;
    }

    private void makeKeyStream(final byte[] into, final int length) {
        try {
            cipher.update(zeros, 0, length, into, 0);
        } catch (final GeneralSecurityException e) {
            throw new IllegalStateException("ChaCha20 refused to make key stream; no token can be drawn", e);
        }
    }

    private void replaceKey(final long nowNs) {
        try {
            // Drawn first: if it fails, nothing has changed.
            seedSource.fill(key);
            seedSource.fill(nonce);
            digest.reset();
            digest.update(key);
            digest.update(times.putLong(0, nowNs).putLong(Long.BYTES, wallClock.getAsLong()).array());
            if (hasKey) {
                makeKeyStream(key, KEY_LENGTH);
                digest.update(key);
            }
            digest.digest(key, 0, KEY_LENGTH);
            cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "ChaCha20"), new ChaCha20ParameterSpec(nonce, 1));
        } catch (final GeneralSecurityException e) {
            throw new IllegalStateException("this JDK refuses a key for ChaCha20, which tokens are drawn from", e);
        } finally {
            Arrays.fill(key, (byte) 0);
        }
        hasKey = true;
        keyedNs = nowNs;
        refillsLeft = refillsPerKey;
    }

    @Override
    public String toString() {
        return "TokenStream{ChaCha20}";
    }
}
