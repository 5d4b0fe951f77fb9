package dev.redlock.quorum;

import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.function.LongSupplier;
import javax.crypto.Cipher;
import javax.crypto.spec.ChaCha20ParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * A ChaCha20 key stream of the JDK, made in bulk.
 *
 * <p>A new key replaces the old one
 * <ul>
 * <li>with the first draw that is {@value #REKEY_MS} ms after the last replacement;
 * <li>after {@link TokenStream#rekey};
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
 * bytes or if the copies drew at different times of either clock. The client calls {@link TokenStream#rekey} whenever a
 * node is connected. A restored copy has to connect again, so it sends only tokens of a new key.
 * <li>Before the replacement the n-th tokens of two copies are equal only if both were drawn in the same nanosecond of
 * the monotonic clock.
 * <li>No guarantee for tokens that were drawn before the snapshot: each copy holds a lease that was held then, with the
 * same token.
 * </ul>
 *
 * <p>The block counter of ChaCha20 has 32 bits (RFC 8439), 256 GiB of key stream: {@value #REFILLS_PER_KEY} refills are
 * far below. Used bytes are overwritten at the next refill.
 *
 * @threading event-loop-confined
 */
final class KeyStream {

    /** Refills under one key: 2^20 tokens, 20 MiB. */
    static final int REFILLS_PER_KEY = 1 << 14;
    /** A new key costs microseconds and a few hundred bytes of garbage. */
    static final int REKEY_MS = 1_000;

    static final long REKEY_NS = REKEY_MS * Validity.NS_PER_MS;
    private static final int KEY_LENGTH = 32;
    private static final int NONCE_LENGTH = 12;

    private final byte[] zeros = new byte[TokenStream.TOKENS_PER_REFILL * Token.LENGTH];
    private final byte[] key = new byte[KEY_LENGTH];
    private final byte[] nonce = new byte[NONCE_LENGTH];
    private final ByteBuffer times = ByteBuffer.allocate(2 * Long.BYTES);
    private final SeedSource seedSource;
    private final LongSupplier wallClock;
    private final int refillsPerKey;
    private final MessageDigest digest;
    private final Cipher cipher;
    private int refillsLeft;
    /** Monotonic time of the last replacement of the key, or of the last try. */
    long keyedNs;
    private boolean hasKey;

    KeyStream(SeedSource seedSource, LongSupplier wallClock, long nowNs, int refillsPerKey) {
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

    /** The next bytes are of a new key. */
    void endKey() {
        refillsLeft = 0;
    }

    /** Overwrites a buffer with the next bytes. Allocates nothing, except for a new key. */
    void fill(byte[] buffer, long nowNs) {
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
}
