package dev.redlock.engine;

import dev.redlock.engine.key.KeyText;
import io.netty.buffer.ByteBuf;

/**
 * Finds a lock by the name of the key of its traces, which a node pushes.
 *
 * @threading any thread
 */
final class RetainedKeyName {

    private RetainedKeyName() {
    }

    /** Returns the length of a lock's name in the name of the key of its traces; -1 for another key. */
    static int lockLengthOf(ByteBuf name, int index, int length) {
        int counterLength = length - KeyText.TRACE_MARK.length();
        if (!hasText(name, index, length, counterLength, KeyText.TRACE_MARK)) {
            return -1;
        }
        // The second form of counterName() has the lock's name twice.
        int withBrace = counterLength - KeyText.COUNTER_MARK.length();
        int withoutBrace = (withBrace - ":{}".length()) / 2;
        if (hasText(name, index, length, withBrace, KeyText.COUNTER_MARK)) {
            return withBrace;
        }
        return hasText(name, index, length, withoutBrace, KeyText.COUNTER_MARK) ? withoutBrace : -1;
    }

    private static boolean hasText(ByteBuf name, int index, int length, int from, String text) {
        if (from <= 0 || from + text.length() > length) {
            return false;
        }
        for (int i = 0; i < text.length(); i++) {
            if (name.getByte(index + from + i) != text.charAt(i)) {
                return false;
            }
        }
        return true;
    }
}
