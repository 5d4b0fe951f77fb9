package dev.redlock.quorum;

import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;

/**
 * Where fresh random bytes come from.
 *
 * @threading any thread, if the implementation allows it; that of {@link #system} does
 */
@FunctionalInterface
public interface SeedSource {

    /**
     * Fills an array with fresh random bytes.
     *
     * @param bytes all of it is filled
     */
    void fill(byte[] bytes);

    /**
     * The random source of the operating system, read anew each time. What {@link SecureRandom#nextBytes} returns comes
     * in part from a generator and a buffer within this process, both of which a snapshot of the machine or a
     * checkpoint of the process copies.
     *
     * @return the source: /dev/urandom where there is one, which does not block; else the default of the JDK, reseeded
     *         before each draw where it can be
     */
    static SeedSource system() {
        try {
            final SecureRandom urandom = SecureRandom.getInstance("NativePRNGNonBlocking");
            return bytes -> {
                final byte[] fresh = urandom.generateSeed(bytes.length);
                System.arraycopy(fresh, 0, bytes, 0, bytes.length);
            };
        } catch (final NoSuchAlgorithmException e) {
            return ofDefault(new SecureRandom());
        }
    }

    private static SeedSource ofDefault(final SecureRandom random) {
        return bytes -> {
            try {
                random.reseed();
            } catch (final UnsupportedOperationException e) {
                // One that asks the operating system each time, such as that of Windows, has no seed of its own.
            }
            random.nextBytes(bytes);
        };
    }
}
