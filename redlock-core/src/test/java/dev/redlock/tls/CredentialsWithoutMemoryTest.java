package dev.redlock.tls;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.Credentials;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.TestClient;
import dev.redlock.api.NodeState;
import dev.redlock.sim.LiveNodes;
import dev.redlock.testing.Await;
import dev.redlock.time.NanoClock;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SingleThreadIoEventLoop;
import io.netty.channel.local.LocalIoHandler;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The event loop has no memory for the task that brings a login. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class CredentialsWithoutMemoryTest {

    private static final String USER = "app";
    private static final String PASSWORD = "first-secret";

    private final EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, LocalIoHandler.newFactory()) {
        @Override
        protected IoEventLoop newChild(Executor executor, IoHandlerFactory factory, Object... args) {
            return new SingleThreadIoEventLoop(this, executor, factory) {
                @Override
                public void execute(Runnable task) {
                    if (Thread.currentThread() == hungry) {
                        hungry = null;
                        throw new OutOfMemoryError("thrown by a test");
                    }
                    super.execute(task);
                }
            };
        }
    };
    private final LiveNodes nodes = new LiveNodes(1);
    private final List<char[]> returned = new CopyOnWriteArrayList<>();
    private Redlock redlock;
    /** The thread whose next task finds no memory. */
    private volatile Thread hungry;
    private volatile boolean isNextHungry;

    @AfterEach
    void end() {
        redlock.close();
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        nodes.close();
    }

    private Credentials credentials() {
        char[] secret = PASSWORD.toCharArray();
        returned.add(secret);
        if (isNextHungry) {
            isNextHungry = false;
            hungry = Thread.currentThread();
        }
        return Credentials.of(USER, secret);
    }

    private void awaitReady() {
        Await.until(() -> redlock.nodes().toString(), () -> redlock.nodes().get(0).state() == NodeState.READY);
    }

    private void breakConnections() {
        nodes.onLoop(() -> {
            nodes.node(0).breakConnections();
            return null;
        });
    }

    @Test
    void theNextConnectionAsksForAnotherOne() {
        nodes.onLoop(() -> {
            nodes.node(0).redis().password(USER, PASSWORD);
            return null;
        });
        TestClient client = new TestClient(
                new RedlockContext().nodes(nodes.addresses()).credentials(node -> credentials()), group.next(),
                nodes.newTransport(), NanoClock.system(), 1);
        redlock = client.redlock();
        client.open().orTimeout(60, TimeUnit.SECONDS).join();
        awaitReady();
        isNextHungry = true;
        breakConnections();
        Await.until("the second login is overwritten", () -> returned.size() == 2 && returned.get(1)[0] == 0);
        breakConnections();
        Await.until("the third login", () -> returned.size() == 3);
        awaitReady();
        for (char[] secret : returned) {
            assertEquals("\0".repeat(secret.length), new String(secret), "an array of the provider");
        }
    }
}
