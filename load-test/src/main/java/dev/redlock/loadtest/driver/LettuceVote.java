package dev.redlock.loadtest.driver;

import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.CommandOutput;
import java.nio.ByteBuffer;

/**
 * Maps a node's reply to a vote: 1 is a grant. A granted SET replies OK and a rejected one null; a script replies a
 * number.
 *
 * @threading event-loop-confined
 */
final class LettuceVote extends CommandOutput<byte[], byte[], Long> {
    LettuceVote() {
        super(ByteArrayCodec.INSTANCE, 0L);
    }

    @Override
    public void set(long integer) {
        output = integer;
    }

    @Override
    public void set(ByteBuffer text) {
        output = text == null ? 0L : 1L;
    }
}
