package dev.redlock.hostile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Election;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.FakeNode;
import dev.redlock.sim.SocketNodes;
import dev.redlock.testing.Await;
import dev.redlock.testing.LogLines;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoEventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Level;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An event loop without memory for a task: the candidate neither keeps its lock nor leaves the election. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class ElectionFaultsTest {

    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(Duration.ofSeconds(2));

    private final SocketNodes nodes = new SocketNodes(3);
    private final EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final EventLoop loop = group.next();
    private final OutOfMemoryError thrown = new OutOfMemoryError("thrown by a test");
    /** Tasks of other threads that the loop does not accept. */
    private final AtomicInteger refusals = new AtomicInteger();
    private final List<Election.Term> terms = new CopyOnWriteArrayList<>();
    private Redlock redlock;

    @AfterEach
    void end() {
        refusals.set(0);
        redlock.close();
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        nodes.close();
    }

    private void connect(Executor functions) {
        EventLoop refusing = (EventLoop) Proxy.newProxyInstance(getClass().getClassLoader(),
                new Class<?>[]{IoEventLoop.class}, (proxy, method, arguments) -> onLoop(method, arguments));
        RedlockContext context = new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(1))
                .eventLoops(refusing);
        redlock = Redlock.connect(functions == null ? context : context.callbackExecutor(functions));
    }

    private Object onLoop(Method method, Object[] arguments) throws Throwable {
        boolean isTask = method.getName().equals("execute") || method.getName().equals("schedule");
        if (isTask && !loop.inEventLoop() && refusals.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
            throw thrown;
        }
        try {
            return method.invoke(loop, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private Election elect() {
        return redlock.elect("orders", OPTIONS, terms::add);
    }

    private void awaitTerm(int count) {
        Await.until(() -> "term " + count + " of " + terms, () -> terms.size() == count);
    }

    private int keyCount() {
        int count = 0;
        for (int i = 0; i < 3; i++) {
            FakeNode node = nodes.node(i);
            count += nodes.onLoop(i, () -> node.redis().get("orders")) == null ? 0 : 1;
        }
        return count;
    }

    /**
     * The first task watches the functions, the second one is that of the release, which follows later, and the third
     * one is that of the next attempt.
     */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void aResignationWithoutMemoryReleasesAndJoinsLater(int count) {
        connect(null);
        elect();
        awaitTerm(1);
        refusals.set(count);
        terms.get(0).resign();
        awaitTerm(2);
        assertTrue(terms.get(1).fencingToken() > terms.get(0).fencingToken());
    }

    @Test
    void aJoinThatThrowsIsTriedAgain() {
        connect(function -> new Thread(function, "function").start());
        elect();
        awaitTerm(1);
        try (LogLines log = new LogLines()) {
            refusals.set(1);
            for (int i = 0; i < 3; i++) {
                FakeNode node = nodes.node(i);
                nodes.onLoop(i, () -> {
                    node.redis().flushAll();
                    return null;
                });
            }
            awaitTerm(2);
            assertEquals(1, log.with(Level.SEVERE, "the candidate for \"orders\" could not join").size());
        }
    }

    @Test
    void aCloseWithoutMemoryReleasesLater() {
        connect(null);
        Election election = elect();
        awaitTerm(1);
        // That which watches the functions, and that of the release.
        refusals.set(2);
        election.close();
        Await.until("released", () -> keyCount() == 0);
        assertEquals(1, terms.size());
    }

    @Test
    void aCandidateThatCannotJoinIsNone() {
        connect(null);
        refusals.set(1);
        assertSame(thrown, assertThrows(OutOfMemoryError.class, this::elect));
        assertEquals(0, TestClient.electionCount(redlock));
        elect();
        awaitTerm(1);
    }
}
