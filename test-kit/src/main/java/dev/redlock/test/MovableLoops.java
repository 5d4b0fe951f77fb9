package dev.redlock.test;

import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SingleThreadIoEventLoop;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.ThreadPerTaskExecutor;
import io.netty.util.concurrent.Ticker;
import java.util.concurrent.Executor;

/**
 * One event loop, whose timers run by a clock that can be moved.
 *
 * @threading any thread
 */
final class MovableLoops extends MultiThreadIoEventLoopGroup {

    MovableLoops(String name, MovableClock clock) {
        super(1, new ThreadPerTaskExecutor(new DefaultThreadFactory(name, true)), NioIoHandler.newFactory(), clock);
    }

    @Override
    protected IoEventLoop newChild(Executor executor, IoHandlerFactory ioHandlerFactory, Object... args) {
        Ticker clock = (Ticker) args[0];
        return new SingleThreadIoEventLoop(this, executor, ioHandlerFactory) {
            @Override
            public Ticker ticker() {
                return clock;
            }
        };
    }
}
