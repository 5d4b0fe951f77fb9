package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.sim.VirtualWorld;
import dev.redlock.testing.Refusal;
import dev.redlock.testing.VirtualTest;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A candidate that joins while another thread closes the client. */
class ElectionStartTest extends VirtualTest {

    @Test
    void aCandidateThatEndsBeforeItJoinsIsRefused() {
        VirtualWorld.Client client = world(3);
        List<Long> terms = new ArrayList<>();
        Election election = new Election(client.redlock(), client.redlock().engine.key("orders"),
                AcquireOptions.ofTtl(TTL), term -> terms.add(term.fencingToken()));
        client.redlock().elections.add(election);
        election.end();
        Refusal.ofState("\"orders\" gets no candidate: the client is closed, connect again", election::joinFirst);
        world.runMs(1_000);
        assertEquals(List.of(), terms);
        assertEquals(0, keyCount());
    }
}
