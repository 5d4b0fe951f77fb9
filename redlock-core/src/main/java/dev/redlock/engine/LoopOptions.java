package dev.redlock.engine;

import dev.redlock.IdlePolicy;
import dev.redlock.TransportKind;
import io.netty.channel.EventLoop;
import java.util.List;

/**
 * The event loops of a client.
 *
 * @param given      the user's loops; empty if the client runs its own
 * @param count      number of loops, given or own
 * @param idlePolicy behaviour of own loops without work
 * @param transport  transport of own loops
 * @threading        immutable
 */
public record LoopOptions(List<EventLoop> given, int count, IdlePolicy idlePolicy, TransportKind transport) {
}
