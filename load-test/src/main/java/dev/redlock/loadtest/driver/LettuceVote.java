package dev.redlock.loadtest.driver;

import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.CommandOutput;
import java.nio.ByteBuffer;

/**
 * A node's answer as a vote: 1 for us. A SET that was granted says OK and one that was refused nothing; a script says a
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
