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
 * Draws tokens from a ChaCha20 key stream of the JDK, made in bulk, without allocating. The time of the draw is added
 * to each token (XOR), which keeps it as random as the key stream.
 *
 * <p>A new key replaces the old one
 * <ul>
 * <li>with the first draw that is {@value #REKEY_MS} ms after the last replacement;
 * <li>after {@link #rekey};
 * <li>after {@value #REFILLS_PER_KEY} refills.
 * </ul>
 *
 * <p>A key is the SHA-256 of 32 fresh bytes of the seed source, the monotonic and the wall clock, and 32 bytes of the
 * previous key stream.
 *
 * <p>Copies of one process (two restores of a virtual machine's snapshot, or of a checkpoint) have the same key until
 * they replace it:
 * <ul>
 * <li>Guarantee: after the replacement the tokens of two copies are independent, if the seed source returned different
 * bytes or if the copies drew at different times of either clock. The client calls {@link #rekey} whenever a node is
 * connected. A restored copy has to connect again, so it sends only tokens of a new key.
 * <li>Before the replacement the n-th tokens of two copies are equal only if both were drawn in the same nanosecond of
 * the monotonic clock.
 * <li>No guarantee for tokens that were drawn before the snapshot: each copy holds a lease that was held then, with the
 * same token.
 * </ul>
 *
 * <p>The block counter of ChaCha20 has 32 bits (RFC 8439), 256 GiB of key stream: {@value #REFILLS_PER_KEY} refills are
 * far below. Used bytes are overwritten at the next refill.
 *
 * @threading event-loop-confined: one stream per conductor
 */
public final class TokenStream {

    /** Tokens per refill: enough to spread the cost of a call, and few enough that a refill takes microseconds. */
    static final int TOKENS_PER_REFILL = 64;
    /** Refills under one key: 2^20 tokens, 20 MiB. */
    static final int REFILLS_PER_KEY = 1 << 14;
    /** A new key costs microseconds and a few hundred bytes of garbage. */
    static final int REKEY_MS = 1_000;

    private static final long REKEY_NS = REKEY_MS * Validity.NS_PER_MS;
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
     * @param seedSource returns fresh bytes; may be deterministic in tests
     * @param wallClock  a clock that continues between snapshot and restore, in any unit
     * @param nowNs      monotonic now
     */
    public TokenStream(SeedSource seedSource, LongSupplier wallClock, long nowNs) {
        this(seedSource, wallClock, nowNs, REFILLS_PER_KEY);
    }

    /** For tests: a stream that replaces its key sooner. */
    TokenStream(SeedSource seedSource, LongSupplier wallClock, long nowNs, int refillsPerKey) {
        this.seedSource = seedSource;
        this.wallClock = wallClock;
        this.refillsPerKey = refillsPerKey;
        try {
            this.cipher = Cipher.getInstance("ChaCha20");
            this.digest = MessageDigest.getInstance("SHA-256");
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this JDK has no ChaCha20 or no SHA-256, which tokens are drawn from", e);
        }
        replaceKey(nowNs);
    }

    /**
     * Draws the next token. Allocates nothing, except for a new key.
     *
     * @param into  filled with twenty fresh bytes
     * @param nowNs monotonic now
     */
    public void next(Token into, long nowNs) {
        if (index == buffer.length || nowNs - keyedNs >= REKEY_NS) {
            refill(nowNs);
        }
        into.set((long) LONGS.get(buffer, index) ^ nowNs, (long) LONGS.get(buffer, index + 8),
                (int) INTS.get(buffer, index + 16));
        index += Token.LENGTH;
    }

    /** Draws the next token from a new key: this process may be a copy. */
    public void rekey() {
        refillsLeft = 0;
        index = buffer.length;
    }

    private void refill(long nowNs) {
        if (refillsLeft == 0 || nowNs - keyedNs >= REKEY_NS) {
            try {
                replaceKey(nowNs);
            } catch (RuntimeException | Error e) {
                // The old key is still secret, and better than no lock. The next try is in REKEY_MS.
                keyedNs = nowNs;
                refillsLeft = refillsPerKey;
            }
        }
        refillsLeft--;
        makeKeyStream(buffer, buffer.length);
        index = 0;
    }

    private void makeKeyStream(byte[] into, int length) {
        try {
            cipher.update(zeros, 0, length, into, 0);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("ChaCha20 failed; no token can be drawn", e);
        }
    }

    private void replaceKey(long nowNs) {
        try {
            // First: if it fails, nothing has changed.
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
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("ChaCha20 rejected a key; no token can be drawn", e);
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
