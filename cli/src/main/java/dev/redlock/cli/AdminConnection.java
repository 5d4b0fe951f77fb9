package dev.redlock.cli;

import dev.redlock.resp.RespValue;
import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.util.List;

/**
 * An open connection of an {@link AdminClient}.
 *
 * @threading any thread but an event loop
 */
interface AdminConnection {

    /**
     * Sends commands without waiting in between, then waits for their replies, each as long as for one command.
     *
     * @param commands encoded; transferred
     * @return the replies in order
     * @throws IOException if the connection breaks or a reply does not come in time
     */
    List<RespValue> exchange(List<ByteBuf> commands) throws IOException;

    void close();
}
