package dev.redlock.jmh.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.nio.charset.StandardCharsets;

/**
 * Wire bytes in a pooled direct buffer, as after a socket read.
 *
 * @threading any thread
 */
final class Wires {
    private Wires() {
    }

    static ByteBuf direct(String wire) {
        byte[] bytes = wire.getBytes(StandardCharsets.ISO_8859_1);
        return PooledByteBufAllocator.DEFAULT.directBuffer(bytes.length + 64).writeBytes(bytes);
    }

    static void check(long expected, long actual) {
        if (expected != actual) {
            throw new IllegalStateException("decoded " + actual + " instead of " + expected);
        }
    }
}
