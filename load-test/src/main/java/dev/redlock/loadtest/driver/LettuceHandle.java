package dev.redlock.loadtest.driver;

import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandKeyword;
import io.lettuce.core.protocol.CommandType;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/**
 * One lock over all nodes.
 *
 * @threading caller-confined between a call and its outcome
 */
final class LettuceHandle implements LockHandle {
    private final LettuceSession session;
    private final byte[] resource;
    private final Duration ttl;
    private final LockListener listener;
    private byte[] token = {};

    LettuceHandle(LettuceSession session, String resource, Duration ttl, LockListener listener) {
        this.session = session;
        this.resource = resource.getBytes(StandardCharsets.UTF_8);
        this.ttl = ttl;
        this.listener = listener;
    }

    @Override
    public void acquire() {
        token = session.freshToken();
        session.begin(new LettuceRound(this, PeerVerb.ACQUIRE, token, session.nodeCount(), false));
    }

    @Override
    public void release() {
        session.begin(new LettuceRound(this, PeerVerb.RELEASE, token, session.nodeCount(), false));
    }

    int nodeCount() {
        return session.nodeCount();
    }

    /** Sends a round to all nodes; a failed send is a failed vote. */
    void send(LettuceRound round) {
        if (round.verb() == PeerVerb.RELEASE) {
            session.send(round, CommandType.EVALSHA, releaseArguments(round, PeerScript.RELEASE.sha()));
        } else if (session.isAcquiredByScript()) {
            session.send(round, CommandType.EVALSHA, acquireArguments(round, PeerScript.ACQUIRE.sha()));
        } else {
            session.send(round, CommandType.SET, setArguments(round));
        }
        round.onSent();
    }

    void onAnswer(LettuceRound round, int node, Long reply, Throwable failure) {
        if (failure == null) {
            round.onReply(node, reply);
        } else if (failure instanceof RedisNoScriptException) {
            session.send(round, node, CommandType.EVAL, round.verb() == PeerVerb.RELEASE
                    ? releaseArguments(round, PeerScript.RELEASE.source())
                    : acquireArguments(round, PeerScript.ACQUIRE.source()));
        } else {
            round.onFailure(node);
        }
    }

    /** {@code SET resource token NX PX ttl}. */
    private CommandArgs<byte[], byte[]> setArguments(LettuceRound round) {
        return new CommandArgs<>(ByteArrayCodec.INSTANCE).addKey(resource)
                .addValue(round.token())
                .add(CommandKeyword.NX)
                .add(CommandKeyword.PX)
                .add(ttl.toMillis());
    }

    /** {@code EVALSHA sha 1 resource token ttl}, or {@code EVAL} with the source. */
    private CommandArgs<byte[], byte[]> acquireArguments(LettuceRound round, String script) {
        return releaseArguments(round, script).add(ttl.toMillis());
    }

    /** {@code EVALSHA sha 1 resource token}, or {@code EVAL} with the source. */
    private CommandArgs<byte[], byte[]> releaseArguments(LettuceRound round, String script) {
        return new CommandArgs<>(ByteArrayCodec.INSTANCE).add(script).add(1).addKey(resource).addValue(round.token());
    }

    void onDecided(LettuceRound round, VoteCount votes) {
        if (round.verb() == PeerVerb.RELEASE) {
            listener.onRelease(votes.released());
            return;
        }
        long validityNs = VoteCount.validityNs(ttl, System.nanoTime() - round.startNs());
        if (votes.isWon() && validityNs > 0) {
            listener.onAcquire(AcquireVerdict.ACQUIRED, validityNs);
            return;
        }
        session.begin(new LettuceRound(this, PeerVerb.RELEASE, round.token(), session.nodeCount(), true));
        listener.onAcquire(votes.isWon() ? AcquireVerdict.TOO_SLOW : votes.lost(), 0);
    }
}
