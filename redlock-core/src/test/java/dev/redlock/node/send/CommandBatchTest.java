package dev.redlock.node.send;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Releases of one turn that are for different nodes: the requests that each node gets. */
class CommandBatchTest {

    private final List<String> failed = new ArrayList<>();

    private StubRequest request(String name) {
        return new StubRequest(name, 30_000) {
            @Override
            public void onFailed(int nodeIndex, CommandKind kind, int sequence, VoteFailure failure) {
                failed.add(name + " " + nodeIndex);
            }
        };
    }

    private CommandBatch batch() {
        CommandBatch batch = new CommandBatch(CommandKind.RELEASE_MANY);
        batch.add(request("a"), 0, 0b011);
        batch.add(request("b"), 0, 0b110);
        batch.add(request("c"), 0, 0b011);
        return batch;
    }

    @Test
    void eachNodeHasItsOwnRequests() {
        CommandBatch batch = batch();
        assertEquals(0b101, batch.requestsOf(0));
        assertEquals(0b111, batch.requestsOf(1));
        assertEquals(0b010, batch.requestsOf(2));
        assertEquals(0, batch.requestsOf(3));
        assertEquals(0b111, batch.nodes());
        assertEquals(0b110, batch.nodesOf(1));
    }

    @Test
    void aRequestIsLeftOutOnOneNode() {
        CommandBatch batch = batch();
        batch.remove(0b101, 0);
        assertEquals(0, batch.requestsOf(0));
        assertEquals(0b111, batch.requestsOf(1));
    }

    @Test
    void aFailureOfANodeConcernsItsRequests() {
        batch().onFailed(0, VoteFailure.OOM);
        assertEquals(List.of("a 0", "c 0"), failed);
    }

    /** The first release may have all its outcomes, and then its arguments are those of another lock, or none. */
    @Test
    void aNodeGetsTheCounterTtlOfItsOwnRequests() {
        CommandBatch batch = new CommandBatch(CommandKind.RELEASE_MANY_FENCED);
        batch.add(new StubRequest("$1\r\na\r\n", 30_000) {
            @Override
            public ScriptArguments arguments() {
                throw new AssertionError("node 1 has no part in it");
            }
        }, 0, 0b01);
        batch.add(new StubRequest("$1\r\nb\r\n", 30_000), 0, 0b10);
        ByteBuf out = Unpooled.buffer();
        batch.writeTo(out, batch.requestsOf(1), true);
        String command = out.toString(StandardCharsets.ISO_8859_1);
        assertTrue(command.endsWith("$16\r\n9007199254740991\r\n$8\r\n86400000\r\n"), command);
    }

    @Test
    void aFullBatchKeepsItsLastRequest() {
        CommandBatch batch = new CommandBatch(CommandKind.RELEASE_MANY);
        for (int i = 0; i < CommandBatch.LENGTH_MAX; i++) {
            batch.add(request("a"), 0, 1L << 62 | i % 2);
        }
        assertEquals(-1, batch.requestsOf(62));
        assertEquals(0xAAAA_AAAA_AAAA_AAAAL, batch.requestsOf(0));
    }
}
