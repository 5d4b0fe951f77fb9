package dev.redlock.quorum;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.spec.ChaCha20ParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * An endless stream of tokens: the key stream of the JDK's ChaCha20 under a key from {@link SecureRandom}, made in bulk
 * and handed out twenty bytes at a time without allocating.
 *
 * <p>The block counter of ChaCha20 has 32 bits (RFC 8439), 256 GiB of key stream; a new key and nonce are drawn long
 * before, every {@value #REFILLS_PER_KEY} refills. Bytes that were handed out are wiped from the buffer at the next
 * refill.
 *
 * @threading event-loop-confined: one stream per conductor
 */
public final class TokenStream {

    /** Tokens made at once: large enough to spread the cost of a call, small enough that a refill is microseconds. */
    static final int TOKENS_PER_REFILL = 64;
    /** Refills under one key: 2^24 refills of 1280 bytes are 20 GiB, far below the counter's end. */
    static final int REFILLS_PER_KEY = 1 << 24;

    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle INTS = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final int KEY_LENGTH = 32;
    private static final int NONCE_LENGTH = 12;

    private final byte[] zeros = new byte[TOKENS_PER_REFILL * Token.LENGTH];
    private final byte[] buffer = new byte[TOKENS_PER_REFILL * Token.LENGTH];
    private final SecureRandom seedSource;
    private final int refillsPerKey;
    private Cipher cipher;
    private int index = buffer.length;
    private int refillsLeft;

    /**
     * A stream whose keys are drawn from the given source.
     *
     * @param seedSource where keys and nonces come from; tests may give a deterministic one
     */
    public TokenStream(final SecureRandom seedSource) {
        this(seedSource, REFILLS_PER_KEY);
    }

    /** A stream that draws a new key sooner: the boundary is too far away for a test otherwise. */
    TokenStream(final SecureRandom seedSource, final int refillsPerKey) {
        this.seedSource = seedSource;
        this.refillsPerKey = refillsPerKey;
        rekey();
    }

    /**
     * Draws the next token. Allocates nothing.
     *
     * @param into filled with twenty fresh bytes
     */
    public void next(final Token into) {
        if (index == buffer.length) {
            refill();
        }
        into.set((long) LONGS.get(buffer, index), (long) LONGS.get(buffer, index + 8),
                (int) INTS.get(buffer, index + 16));
        index += Token.LENGTH;
    }

    private void refill() {
        if (refillsLeft == 0) {
            rekey();
        }
        refillsLeft--;
        try {
            cipher.update(zeros, 0, zeros.length, buffer, 0);
        } catch (final GeneralSecurityException e) {
            throw new IllegalStateException("ChaCha20 refused to make key stream; no token can be drawn", e);
        }
        index = 0;
    }

    private void rekey() {
        final byte[] key = new byte[KEY_LENGTH];
        final byte[] nonce = new byte[NONCE_LENGTH];
        seedSource.nextBytes(key);
        seedSource.nextBytes(nonce);
        try {
            cipher = Cipher.getInstance("ChaCha20");
            cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "ChaCha20"), new ChaCha20ParameterSpec(nonce, 1));
        } catch (final GeneralSecurityException e) {
            throw new IllegalStateException("this JDK offers no ChaCha20 cipher, which tokens are drawn from", e);
        } finally {
            Arrays.fill(key, (byte) 0);
        }
        refillsLeft = refillsPerKey;
    }

    @Override
    public String toString() {
        return "TokenStream{ChaCha20}";
    }
}
