package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.redlock.quorum.FreshGroupSearch.Losses;
import dev.redlock.quorum.FreshGroupSearch.Rule;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The proof that a fresh group may vote at once: a search through all states of a small model. */
class FreshGroupSearchTest {

    @Test
    void aFreshGroupDoesNotAllowASecondHolder() {
        assertClean(Losses.FEWER_THAN_A_QUORUM, 2, 425_091);
    }

    @Test
    @Tag("exhaustive")
    void aFreshGroupThatLosesAnyNodesDoesNotAllowASecondHolder() {
        assertClean(Losses.ANY, 2, 1_983_120);
    }

    @Test
    @Tag("exhaustive")
    void aFreshGroupDoesNotAllowASecondHolderAmongThreeClients() {
        assertClean(Losses.FEWER_THAN_A_QUORUM, 3, 12_742_851);
    }

    /** The number of states is part of the proof: a change of the model shows in it. */
    private static void assertClean(Losses losses, int clientCount, long stateCount) {
        FreshGroupSearch search = new FreshGroupSearch(Rule.PRODUCT, losses, clientCount);
        long startNs = System.nanoTime();
        assertNull(search.run());
        System.out.println("fresh group search, " + clientCount + " clients, losses " + losses + ": "
                + search.stateCount() + " states, no violation, " + (System.nanoTime() - startNs) / 1_000_000 + " ms");
        assertEquals(stateCount, search.stateCount(), "states");
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "PRODUCT")
    void findsTheErrorOfEachSimplerRule(Rule rule) {
        assertNotNull(new FreshGroupSearch(rule, Losses.FEWER_THAN_A_QUORUM, 2).run());
    }

    /** After the loss of all nodes, a client that was connected before must not vote by a mark. */
    @Test
    void findsThatAMarkDoesNotProtectAfterTheLossOfAllNodes() {
        assertNotNull(new FreshGroupSearch(Rule.MARK_FOR_SUCCESSOR, Losses.ANY, 2).run());
    }
}
