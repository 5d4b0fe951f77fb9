package dev.redlock.quorum;

import static dev.redlock.search.SearchAssert.assertFound;

import dev.redlock.quorum.FreshGroupSearch.Losses;
import dev.redlock.quorum.FreshGroupSearch.Rule;
import dev.redlock.search.SearchAssert;
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

    private static void assertClean(Losses losses, int clientCount, long stateCount) {
        SearchAssert.assertClean(clientCount + " clients, losses " + losses,
                new FreshGroupSearch(Rule.PRODUCT, losses, clientCount), stateCount);
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "PRODUCT")
    void findsTheErrorOfEachSimplerRule(Rule rule) {
        assertFound(rule, new FreshGroupSearch(rule, Losses.FEWER_THAN_A_QUORUM, 2).latestFirst());
    }

    /** After the loss of all nodes, a client that was connected before must not vote by a mark. */
    @Test
    void findsThatAMarkDoesNotProtectAfterTheLossOfAllNodes() {
        assertFound(Rule.MARK_FOR_SUCCESSOR,
                new FreshGroupSearch(Rule.MARK_FOR_SUCCESSOR, Losses.ANY, 2).latestFirst());
    }
}
