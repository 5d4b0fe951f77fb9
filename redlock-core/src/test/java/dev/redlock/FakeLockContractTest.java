package dev.redlock;

import dev.redlock.sim.LiveNodes;
import dev.redlock.time.NanoClock;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The lock contract on model nodes inside this process, in real time. */
class FakeLockContractTest extends LockContract {

    private static LiveNodes nodes;

    @BeforeAll
    static void startNodes() {
        nodes = new LiveNodes(5);
    }

    @AfterAll
    static void stopNodes() {
        nodes.close();
    }

    @Override
    protected String[] addresses() {
        return nodes.addresses();
    }

    @Override
    protected Redlock connect(final RedlockContext context) {
        final TestClient client = new TestClient(context, nodes.clientLoop(), nodes.newTransport(), NanoClock.system(),
                System.nanoTime());
        client.open().join();
        return client.redlock();
    }

    @Override
    protected NodeAccess node(final int index) {
        return nodes.access(index);
    }
}
