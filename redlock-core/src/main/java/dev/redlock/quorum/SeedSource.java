package dev.redlock.quorum;

import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;

/**
 * A source of fresh random bytes.
 *
 * @threading as the implementation says; {@link #system} allows any thread
 */
@FunctionalInterface
public interface SeedSource {

    /**
     * Fills an array with fresh random bytes.
     *
     * @param bytes the array
     */
    void fill(byte[] bytes);

    /**
     * The random source of the operating system, read on each call. {@link SecureRandom#nextBytes} uses a generator and
     * a buffer within this process, which a snapshot of the machine or a checkpoint of the process copies.
     *
     * @return the source: /dev/urandom if it exists, which does not block; else the default of the JDK, reseeded before
     *         each draw if possible
     */
    static SeedSource system() {
        try {
            SecureRandom urandom = SecureRandom.getInstance("NativePRNGNonBlocking");
            return bytes -> {
                byte[] fresh = urandom.generateSeed(bytes.length);
                System.arraycopy(fresh, 0, bytes, 0, bytes.length);
            };
        } catch (NoSuchAlgorithmException e) {
            return ofDefault(new SecureRandom());
        }
    }

    /**
     * A generator of the JDK.
     *
     * @param random the generator
     * @return the source, which reseeds it before each draw if possible
     */
    static SeedSource ofDefault(SecureRandom random) {
        return bytes -> {
            try {
                random.reseed();
            } catch (UnsupportedOperationException e) {
                // A source without a seed reads the operating system on each call, as on Windows.
            }
            random.nextBytes(bytes);
        };
    }
}
