package dev.redlock.loadtest.driver;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.internal.ExceptionFactory;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;
import io.lettuce.core.resource.DefaultEventLoopGroupProvider;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/**
 * The fastest use of Lettuce. One event loop serves all connections, so commands that its replies trigger are sent in
 * the same turn: they collect, and a task at the end of the turn flushes each connection once. Commands have no future
 * and no timer of their own; one task looks for overdue rounds.
 *
 * @threading any thread; rounds are sent, answered and timed out on the event loop
 */
final class LettuceBatches implements LettuceWire {
    private static final long SWEEP_MS = 100;

    private final OneLoop provider = new OneLoop();
    private final ClientResources resources = DefaultClientResources.builder().eventLoopGroupProvider(provider).build();
    private final List<StatefulRedisConnection<byte[], byte[]>> connections = new CopyOnWriteArrayList<>();
    /** In the order of their start; all have the same timeout, so the overdue ones are at the front. */
    private final ArrayDeque<LettuceRound> underWay = new ArrayDeque<>();
    private final Runnable flush = this::flush;
    private boolean isFlushDue;
    private boolean isSweeping;

    @Override
    public ClientResources resources() {
        return resources;
    }

    @Override
    public ClientOptions.Builder options() {
        return ClientOptions.builder().timeoutOptions(TimeoutOptions.builder().timeoutCommands(false).build());
    }

    @Override
    public void onConnected(StatefulRedisConnection<byte[], byte[]> connection) {
        connection.setAutoFlushCommands(false);
        connections.add(connection);
    }

    @Override
    public void execute(LettuceRound round) {
        EventLoop loop = provider.loop();
        if (loop.inEventLoop()) {
            sendOnLoop(round);
        } else {
            loop.execute(() -> sendOnLoop(round));
        }
    }

    private void sendOnLoop(LettuceRound round) {
        underWay.addLast(round);
        round.handle().send(round);
        if (!isSweeping) {
            isSweeping = true;
            provider.loop().schedule(this::sweep, SWEEP_MS, TimeUnit.MILLISECONDS);
        }
    }

    @Override
    public void send(StatefulRedisConnection<byte[], byte[]> connection, CommandType type,
            CommandArgs<byte[], byte[]> args, LettuceRound round, int node) {
        connection.dispatch(new Vote(type, args, round, node));
        if (!isFlushDue) {
            isFlushDue = true;
            provider.loop().execute(flush);
        }
    }

    private void flush() {
        isFlushDue = false;
        for (StatefulRedisConnection<byte[], byte[]> connection : connections) {
            connection.flushCommands();
        }
    }

    private void sweep() {
        long overdueNs = System.nanoTime() - LettuceSession.NODE_TIMEOUT.toNanos();
        for (LettuceRound round = underWay.peekFirst(); round != null; round = underWay.peekFirst()) {
            if (!round.isDecided() && round.startNs() - overdueNs > 0) {
                break;
            }
            underWay.removeFirst();
            round.onTimeout(round.handle().nodeCount());
        }
        isSweeping = !underWay.isEmpty();
        if (isSweeping) {
            provider.loop().schedule(this::sweep, SWEEP_MS, TimeUnit.MILLISECONDS);
        }
    }

    @Override
    public void close() {
        LettuceSession.shutDown(resources);
        provider.shutdown(0, 2, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /**
     * Lettuce's provider with one event loop that is accessible.
     *
     * @threading any thread
     */
    private static final class OneLoop extends DefaultEventLoopGroupProvider {
        private volatile EventLoop loop;

        OneLoop() {
            super(1);
        }

        @Override
        public <T extends EventLoopGroup> T allocate(Class<T> type) {
            T group = super.allocate(type);
            loop = group.next();
            return group;
        }

        EventLoop loop() {
            return loop;
        }
    }

    /**
     * A command that notifies its round directly, without a future.
     *
     * @threading event-loop-confined
     */
    private static final class Vote extends Command<byte[], byte[], Long> {
        private final LettuceRound round;
        private final int node;

        Vote(CommandType type, CommandArgs<byte[], byte[]> args, LettuceRound round, int node) {
            super(type, new LettuceVote(), args);
            this.round = round;
            this.node = node;
        }

        @Override
        public void complete() {
            super.complete();
            if (getOutput().hasError()) {
                round.handle()
                        .onAnswer(round, node, null, ExceptionFactory.createExecutionException(getOutput().getError()));
            } else {
                round.handle().onAnswer(round, node, getOutput().get(), null);
            }
        }

        @Override
        public boolean completeExceptionally(Throwable failure) {
            boolean isFirst = super.completeExceptionally(failure);
            round.handle().onAnswer(round, node, null, failure);
            return isFirst;
        }

        @Override
        public void cancel() {
            super.cancel();
            round.onFailure(node);
        }
    }
}
