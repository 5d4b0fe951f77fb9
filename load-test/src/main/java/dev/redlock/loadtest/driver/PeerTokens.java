package dev.redlock.loadtest.driver;

import java.security.SecureRandom;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Tokens of 20 random bytes, drawn from the generator in blocks: a call for each token would be a large part of the
 * cost of a fast client.
 *
 * @threading any thread
 */
final class PeerTokens {
    private static final int TOKEN_BYTES = 20;
    private static final int BLOCK_TOKENS = 64;

    private final SecureRandom random = new SecureRandom();
    private final ReentrantLock lock = new ReentrantLock();
    private final byte[] block = new byte[TOKEN_BYTES * BLOCK_TOKENS];
    private int cursor = block.length;

    byte[] next() {
        lock.lock();
        try {
            if (cursor == block.length) {
                random.nextBytes(block);
                cursor = 0;
            }
            byte[] token = new byte[TOKEN_BYTES];
            System.arraycopy(block, cursor, token, 0, TOKEN_BYTES);
            cursor += TOKEN_BYTES;
            return token;
        } finally {
            lock.unlock();
        }
    }
}
