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
import java.security.MessageDigest;
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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TokenStreamTest {

    private static final long SEED = 0x5EED_0001L;
    private static final long NOW_NS = 77_000_000_123L;
    private static final long WALL = 1_760_000_000_000L;
    private static final long SECOND_NS = 1_000_000_000;
    private static final int REFILL = TokenStream.TOKENS_PER_REFILL;

    private static byte[] bytesOf(Token token) {
        return Arrays.copyOfRange(token.bulk, 5, 5 + Token.LENGTH);
    }

    private static long middleOf(Token token) {
        return ByteBuffer.wrap(token.bulk).getLong(13);
    }

    /** The key streams of a seed and two clocks, computed with the JDK. */
    private static final class PlainStream {
        private final FixedSeed seed = new FixedSeed(SEED);
        private Cipher cipher;

        void rekey(long nowNs, long wall) throws GeneralSecurityException {
            byte[] fresh = new byte[32];
            byte[] nonce = new byte[12];
            seed.nextBytes(fresh);
            seed.nextBytes(nonce);
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update(fresh);
            digest.update(ByteBuffer.allocate(16).putLong(nowNs).putLong(wall).array());
            if (cipher != null) {
                digest.update(cipher.update(new byte[32]));
            }
            cipher = Cipher.getInstance("ChaCha20");
            cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(digest.digest(), "ChaCha20"),
                    new ChaCha20ParameterSpec(nonce, 1));
        }

        void assertTokens(int count, TokenStream stream, long nowNs) {
            ByteBuffer expected = ByteBuffer.wrap(cipher.update(new byte[count * Token.LENGTH]));
            Token token = new Token();
            for (int i = 0; i < count; i++) {
                stream.next(token, nowNs);
                byte[] next = new byte[Token.LENGTH];
                expected.get(next);
                ByteBuffer bytes = ByteBuffer.wrap(next);
                bytes.putLong(0, bytes.getLong(0) ^ nowNs);
                assertArrayEquals(next, bytesOf(token), "token " + i);
            }
        }
    }

    private static TokenStream stream(SecureRandom seed, long nowNs, int refillsPerKey) {
        return new TokenStream(seed::nextBytes, () -> WALL, nowNs, refillsPerKey);
    }

    private static TokenStream stream(SecureRandom seed) {
        return stream(seed, NOW_NS, KeyStream.REFILLS_PER_KEY);
    }

    @Test
    void drawsTheKeyStreamOfTheJdkXorTheTime() throws GeneralSecurityException {
        PlainStream plain = new PlainStream();
        plain.rekey(NOW_NS, WALL);
        plain.assertTokens(10 * REFILL, stream(new FixedSeed(SEED)), NOW_NS);
    }

    @Test
    void replacesTheKeyAfterItsLastRefill() throws GeneralSecurityException {
        int refills = 3;
        FixedSeed seed = new FixedSeed(SEED);
        TokenStream stream = stream(seed, NOW_NS, refills);
        PlainStream plain = new PlainStream();
        plain.rekey(NOW_NS, WALL);
        plain.assertTokens(refills * REFILL, stream, NOW_NS);
        assertEquals(2, seed.draws(), "one key and one nonce so far");
        plain.rekey(NOW_NS + 1, WALL);
        plain.assertTokens(refills * REFILL, stream, NOW_NS + 1);
        assertEquals(4, seed.draws(), "a key and a nonce more");
    }

    @ParameterizedTest
    @ValueSource(longs = {0, Long.MAX_VALUE - 5, Long.MIN_VALUE})
    void replacesTheKeyEachSecond(long startNs) throws GeneralSecurityException {
        FixedSeed seed = new FixedSeed(SEED);
        TokenStream stream = stream(seed, startNs, KeyStream.REFILLS_PER_KEY);
        PlainStream plain = new PlainStream();
        plain.rekey(startNs, WALL);
        plain.assertTokens(REFILL, stream, startNs + SECOND_NS - 1);
        plain.rekey(startNs + SECOND_NS, WALL);
        plain.assertTokens(1, stream, startNs + SECOND_NS);
        assertEquals(4, seed.draws(), "two keys and two nonces");
    }

    @Test
    void rekeyReplacesTheKey() throws GeneralSecurityException {
        TokenStream stream = stream(new FixedSeed(SEED));
        PlainStream plain = new PlainStream();
        plain.rekey(NOW_NS, WALL);
        plain.assertTokens(REFILL, stream, NOW_NS);
        stream.rekey();
        plain.rekey(NOW_NS + 7, WALL);
        plain.assertTokens(REFILL, stream, NOW_NS + 7);
    }

    /** A copy of the machine may include the kernel's random state. */
    @ParameterizedTest
    @CsvSource({"1, 0, 0", "0, 1, 0", "0, 0, 1"})
    void aNewKeyDependsOnEachOfItsParts(long seedDifference, long nowDifference,
            long wallDifference) {
        long[] wall = {WALL};
        long[] seed = {0};
        TokenStream one = new TokenStream(bytes -> Arrays.fill(bytes, (byte) seed[0]), () -> wall[0], NOW_NS);
        TokenStream other = new TokenStream(bytes -> Arrays.fill(bytes, (byte) seed[0]), () -> wall[0], NOW_NS);
        assertEquals(draw(one, NOW_NS), draw(other, NOW_NS), "copies");
        assertNotEquals(draw(one, NOW_NS), draw(other, NOW_NS + 1), "not drawn in the same nanosecond");
        one.rekey();
        other.rekey();
        Token first = draw(one, NOW_NS + 1);
        seed[0] = seedDifference;
        wall[0] += wallDifference;
        Token second = draw(other, NOW_NS + 1 + nowDifference);
        assertNotEquals(middleOf(first), middleOf(second), "copies after a new key; the time is in another part");
    }

    @Test
    void aNewKeyDependsOnThePreviousKeyStream() {
        byte[] seed = {1};
        SeedSource source = bytes -> Arrays.fill(bytes, seed[0]);
        TokenStream one = new TokenStream(source, () -> WALL, NOW_NS);
        seed[0] = 2;
        TokenStream other = new TokenStream(source, () -> WALL, NOW_NS);
        one.rekey();
        other.rekey();
        assertNotEquals(draw(one, NOW_NS), draw(other, NOW_NS), "new keys from equal seeds at equal times");
    }

    /** The stream continues with the old key and retries a second later. */
    @Test
    void aFailingSeedSourceDoesNotStopTheStream() throws GeneralSecurityException {
        FixedSeed seed = new FixedSeed(SEED);
        boolean[] isBroken = {false};
        TokenStream stream = new TokenStream(bytes -> {
            if (isBroken[0]) {
                throw new IllegalStateException("Too many open files");
            }
            seed.nextBytes(bytes);
        }, () -> WALL, NOW_NS);
        PlainStream plain = new PlainStream();
        plain.rekey(NOW_NS, WALL);
        plain.assertTokens(REFILL, stream, NOW_NS);
        isBroken[0] = true;
        plain.assertTokens(REFILL, stream, NOW_NS + SECOND_NS);
        stream.rekey();
        plain.assertTokens(REFILL, stream, NOW_NS + SECOND_NS + 1);
        isBroken[0] = false;
        plain.rekey(NOW_NS + 3 * SECOND_NS, WALL);
        plain.assertTokens(REFILL, stream, NOW_NS + 3 * SECOND_NS);
    }

    /** A missing cipher or a blocking source fails at connect and not at the first lock. */
    @Test
    void theConstructorDrawsTheFirstKey() {
        FixedSeed seed = new FixedSeed(SEED);
        stream(seed).toString();
        assertEquals(2, seed.draws(), "a key and a nonce");
    }

    @Test
    void theRefillsPerKeyAreFarBelowTheBlockCounter() {
        long bytesPerKey = (long) KeyStream.REFILLS_PER_KEY * REFILL * Token.LENGTH;
        assertTrue(bytesPerKey < (1L << 32) * 64, "RFC 8439: 2^32 blocks of 64 bytes under one key and nonce");
        assertEquals(20L << 20, bytesPerKey);
    }

    @Test
    void noTokenRepeats() {
        int count = 1_000_000;
        TokenStream stream = stream(new FixedSeed(SEED));
        Set<Long> seen = new HashSet<>(2 * count);
        Token token = new Token();
        for (int i = 0; i < count; i++) {
            stream.next(token, NOW_NS);
            // 64 of the 160 bits: an accident is as likely as 1 in 37 million, and the seed is fixed.
            assertTrue(seen.add(ByteBuffer.wrap(token.bulk).getLong(5) ^ middleOf(token)), "token " + i);
        }
    }

    @Test
    void differentSeedsGiveDifferentTokens() {
        assertNotEquals(draw(stream(new FixedSeed(1)), NOW_NS), draw(stream(new FixedSeed(2)), NOW_NS));
    }

    private static Token draw(TokenStream stream, long nowNs) {
        Token token = new Token();
        stream.next(token, nowNs);
        return token;
    }

    @Test
    void aRefillOverwritesUsedTokens() throws ReflectiveOperationException {
        TokenStream stream = stream(new FixedSeed(SEED));
        Field field = TokenStream.class.getDeclaredField("buffer");
        field.setAccessible(true);
        byte[] buffer = (byte[]) field.get(stream);
        Token token = new Token();
        stream.next(token, NOW_NS);
        byte[] before = buffer.clone();
        for (int i = 0; i < REFILL; i++) {
            stream.next(token, NOW_NS);
        }
        for (int i = 0; i < REFILL; i++) {
            int at = i * Token.LENGTH;
            assertFalse(Arrays.equals(before, at, at + Token.LENGTH, buffer, at, at + Token.LENGTH), "token " + i);
        }
    }

    @Test
    void holdsNoCopyOfItsKey() throws ReflectiveOperationException {
        List<byte[]> drawn = new ArrayList<>();
        TokenStream stream = new TokenStream(bytes -> {
            Arrays.fill(bytes, (byte) 7);
            drawn.add(bytes);
        }, () -> WALL, NOW_NS);
        assertEquals(32, drawn.get(0).length, "the key is drawn first");
        assertArrayEquals(new byte[32], drawn.get(0), "and wiped when the cipher has it");
        stream.rekey();
        draw(stream, NOW_NS);
        assertArrayEquals(new byte[32], drawn.get(2), "and the next one");
    }

    @Test
    void theSystemSourceReturnsFreshBytes() {
        byte[] one = new byte[32];
        byte[] other = new byte[32];
        SeedSource source = SeedSource.system();
        source.fill(one);
        source.fill(other);
        assertFalse(Arrays.equals(one, other));
        assertFalse(Arrays.equals(new byte[32], one));
    }

    /** Where the operating system has no source that does not block. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aGeneratorOfTheJdkIsReseededBeforeEachDrawIfItCanBe(boolean isReseedable) {
        List<String> calls = new ArrayList<>();
        SecureRandom random = new SecureRandom() {
            private static final long serialVersionUID = 1;

            @Override
            public void reseed() {
                calls.add("reseed");
                if (!isReseedable) {
                    throw new UnsupportedOperationException("this generator has no seed");
                }
            }

            @Override
            public void nextBytes(byte[] bytes) {
                calls.add("draw");
                Arrays.fill(bytes, (byte) 7);
            }
        };
        SeedSource source = SeedSource.ofDefault(random);
        for (int i = 0; i < 2; i++) {
            byte[] bytes = new byte[2];
            source.fill(bytes);
            assertArrayEquals(new byte[]{7, 7}, bytes);
        }
        assertEquals(List.of("reseed", "draw", "reseed", "draw"), calls);
    }

    @Test
    void allocatesNothing() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long id = Thread.currentThread().getId();
        TokenStream stream = new TokenStream(SeedSource.system(), System::currentTimeMillis, NOW_NS);
        Token token = new Token();
        int count = 100_000;
        long best = Long.MAX_VALUE;
        for (int window = 0; window < 20 && best >= count; window++) {
            long before = threads.getThreadAllocatedBytes(id);
            for (int i = 0; i < count; i++) {
                stream.next(token, NOW_NS);
            }
            best = Math.min(best, threads.getThreadAllocatedBytes(id) - before);
        }
        assertTrue(best < count, "bytes for " + count + " tokens: " + best);
    }

    @Test
    void toStringShowsNoSecret() {
        assertEquals("TokenStream{ChaCha20}", stream(new FixedSeed(SEED)).toString());
    }
}
