package dev.redlock.node;

import dev.redlock.resp.RespWriter;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledDirectByteBuf;

/**
 * A buffer for one command with a secret. Its memory is overwritten when it is released: after the write to the socket,
 * or when the connection ends before.
 *
 * <p>It cannot grow, because growing would leave a copy.
 *
 * @threading event-loop-confined
 */
class SecretBuffer extends UnpooledDirectByteBuf {

    /** Room for a length line with the stores of {@link RespWriter}. */
    private static final int WORD_OVERHEAD_BYTES = 64;
    private static final int UTF8_BYTES_MAX = 3;

    SecretBuffer(int capacity) {
        super(UnpooledByteBufAllocator.DEFAULT, capacity, capacity);
    }

    /** A command, encoded as UTF-8; null if there is no memory for it. */
    static SecretBuffer ofCommand(CharSequence... words) {
        int capacity = WORD_OVERHEAD_BYTES;
        for (CharSequence word : words) {
            capacity += WORD_OVERHEAD_BYTES + UTF8_BYTES_MAX * word.length();
        }
        SecretBuffer buffer;
        try {
            buffer = new SecretBuffer(capacity);
        } catch (OutOfMemoryError e) {
            return null;
        }
        RespWriter.arrayHeader(buffer, words.length);
        for (CharSequence word : words) {
            RespWriter.bulkString(buffer, word);
        }
        return buffer;
    }

    @Override
    protected void deallocate() {
        wipe();
        super.deallocate();
    }

    /** Overwrites the memory. Not setZero, which rejects a buffer without references. */
    void wipe() {
        for (int i = 0; i < capacity(); i++) {
            _setByte(i, 0);
        }
    }
}
