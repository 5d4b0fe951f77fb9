package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.sim.LiveNodes;
import dev.redlock.time.NanoClock;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Closes a client whose given event loop has ended before it. */
@Timeout(value = 30, unit = TimeUnit.SECONDS)
class ClientCloseTest {

    @Test
    void closeWorksAfterTheLoopHasTerminated() {
        LiveNodes nodes = new LiveNodes(1);
        RedlockContext context = new RedlockContext().nodes(nodes.addresses());
        TestClient client = new TestClient(context, nodes.clientLoop(), nodes.newTransport(), NanoClock.system(),
                1);
        client.open().join();
        nodes.close();
        Await.until("the loop has ended", nodes.clientLoop()::isTerminated);
        client.redlock().close();
        assertEquals(new CloseReport(0, List.of()), client.redlock().closeWithin(Duration.ofSeconds(1)),
                "a second time too");
    }

    /** Loop and caller both detect the close: exactly one of them completes the request, in either order. */
    @Test
    void everyCallOnAClosedClientCompletesWhileItsLoopRuns() throws InterruptedException {
        try (LiveNodes nodes = new LiveNodes(1)) {
            TestClient client = new TestClient(new RedlockContext().nodes(nodes.addresses()), nodes.clientLoop(),
                    nodes.newTransport(), NanoClock.system(), 1);
            client.open().join();
            client.redlock().close();
            for (int i = 0; i < 20_000; i++) {
                assertEquals(AcquireOutcome.Kind.CLOSED,
                        client.redlock().tryAcquire("r", Duration.ofSeconds(10)).kind());
            }
        }
    }
}
