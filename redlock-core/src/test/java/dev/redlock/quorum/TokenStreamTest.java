package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.crypto.Cipher;
import javax.crypto.spec.ChaCha20ParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;

class TokenStreamTest {

    private static final long SEED = 0x5EED_0001L;
    private static final int REFILL = TokenStream.TOKENS_PER_REFILL;

    private static byte[] bytesOf(final Token token) {
        return ByteBuffer.allocate(Token.LENGTH)
                .putLong(token.high())
                .putLong(token.middle())
                .putInt(token.low())
                .array();
    }

    /** The key stream that a seed stands for, straight from the JDK. */
    private static byte[] keyStream(final SecureRandom seed, final int length) throws GeneralSecurityException {
        final byte[] key = new byte[32];
        final byte[] nonce = new byte[12];
        seed.nextBytes(key);
        seed.nextBytes(nonce);
        final Cipher cipher = Cipher.getInstance("ChaCha20");
        cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "ChaCha20"), new ChaCha20ParameterSpec(nonce, 1));
        return cipher.update(new byte[length]);
    }

    private static void assertTokens(final byte[] expected, final int count, final TokenStream stream) {
        final Token token = new Token();
        final ByteBuffer expectedBytes = ByteBuffer.wrap(expected);
        for (int i = 0; i < count; i++) {
            stream.next(token);
            final byte[] next = new byte[Token.LENGTH];
            expectedBytes.get(next);
            assertArrayEquals(next, bytesOf(token), "token " + i);
        }
    }

    @Test
    void isTheKeyStreamOfTheJdk() throws GeneralSecurityException {
        final int count = 10 * REFILL + 1;
        assertTokens(keyStream(new FixedSeed(SEED), count * Token.LENGTH), count,
                new TokenStream(new FixedSeed(SEED)));
    }

    @Test
    void goesOnWithoutAGapAtARefill() throws GeneralSecurityException {
        final byte[] expected = keyStream(new FixedSeed(SEED), (REFILL + 1) * Token.LENGTH);
        final TokenStream stream = new TokenStream(new FixedSeed(SEED));
        final Token token = new Token();
        for (int i = 0; i < REFILL; i++) {
            stream.next(token);
        }
        stream.next(token);
        final byte[] first = new byte[Token.LENGTH];
        System.arraycopy(expected, REFILL * Token.LENGTH, first, 0, Token.LENGTH);
        assertArrayEquals(first, bytesOf(token));
    }

    @Test
    void drawsANewKeyWhenItsRefillsAreUsedUp() throws GeneralSecurityException {
        final int refills = 3;
        final FixedSeed seed = new FixedSeed(SEED);
        final TokenStream stream = new TokenStream(seed, refills);
        final FixedSeed same = new FixedSeed(SEED);
        assertTokens(keyStream(same, refills * REFILL * Token.LENGTH), refills * REFILL, stream);
        assertEquals(2, seed.draws(), "one key and one nonce so far");
        assertTokens(keyStream(same, refills * REFILL * Token.LENGTH), refills * REFILL, stream);
        assertEquals(4, seed.draws(), "a key and a nonce more");
        assertTokens(keyStream(same, REFILL * Token.LENGTH), REFILL, stream);
    }

    /** A JDK without the cipher, or a source that blocks, shows at the connect and not in the first lock. */
    @Test
    void takesItsFirstKeyWhenItIsMade() {
        final FixedSeed seed = new FixedSeed(SEED);
        new TokenStream(seed).toString();
        assertEquals(2, seed.draws(), "a key and a nonce");
    }

    @Test
    void staysFarBelowTheEndOfTheBlockCounter() {
        final long bytesPerKey = (long) TokenStream.REFILLS_PER_KEY * REFILL * Token.LENGTH;
        assertTrue(bytesPerKey < (1L << 32) * 64, "RFC 8439: 2^32 blocks of 64 bytes under one key and nonce");
        assertEquals(20L << 30, bytesPerKey);
    }

    @Test
    void noTokenComesTwice() {
        final int count = 1_000_000;
        final TokenStream stream = new TokenStream(new FixedSeed(SEED));
        final Set<Long> seen = new HashSet<>(2 * count);
        final Token token = new Token();
        for (int i = 0; i < count; i++) {
            stream.next(token);
            // 64 of the 160 bits: an accident is as likely as 1 in 37 million, and the seed is fixed.
            assertTrue(seen.add(token.high() ^ token.middle()), "token " + i);
        }
    }

    @Test
    void differentSeedsGiveDifferentTokens() {
        final Token a = new Token();
        final Token b = new Token();
        new TokenStream(new FixedSeed(1)).next(a);
        new TokenStream(new FixedSeed(2)).next(b);
        assertNotEquals(a, b);
    }

    @Test
    void aRefillWipesWhatWasHandedOut() throws ReflectiveOperationException {
        final TokenStream stream = new TokenStream(new FixedSeed(SEED));
        final Field field = TokenStream.class.getDeclaredField("buffer");
        field.setAccessible(true);
        final byte[] buffer = (byte[]) field.get(stream);
        final Token token = new Token();
        stream.next(token);
        final byte[] before = buffer.clone();
        for (int i = 0; i < REFILL; i++) {
            stream.next(token);
        }
        for (int i = 0; i < REFILL; i++) {
            final int at = i * Token.LENGTH;
            assertFalse(Arrays.equals(before, at, at + Token.LENGTH, buffer, at, at + Token.LENGTH), "token " + i);
        }
    }

    @Test
    void keepsNoCopyOfItsKey() {
        final List<byte[]> drawn = new ArrayList<>();
        final SecureRandom seed = new SecureRandom() {
            private static final long serialVersionUID = 1;

            @Override
            public void nextBytes(final byte[] bytes) {
                Arrays.fill(bytes, (byte) 7);
                drawn.add(bytes);
            }
        };
        new TokenStream(seed).next(new Token());
        assertEquals(32, drawn.get(0).length, "the key is drawn first");
        assertArrayEquals(new byte[32], drawn.get(0), "and wiped when the cipher has it");
    }

    @Test
    void allocatesNothing() {
        final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        final long id = Thread.currentThread().getId();
        final TokenStream stream = new TokenStream(new SecureRandom());
        final Token token = new Token();
        final int count = 100_000;
        long best = Long.MAX_VALUE;
        for (int window = 0; window < 20 && best >= count; window++) {
            final long before = threads.getThreadAllocatedBytes(id);
            for (int i = 0; i < count; i++) {
                stream.next(token);
            }
            best = Math.min(best, threads.getThreadAllocatedBytes(id) - before);
        }
        assertTrue(best < count, "bytes for " + count + " tokens: " + best);
    }

    @Test
    void textShowsNothing() {
        assertEquals("TokenStream{ChaCha20}", new TokenStream(new FixedSeed(SEED)).toString());
    }
}
