package dev.redlock.crowd;

import static dev.redlock.search.SearchAssert.assertClean;
import static dev.redlock.search.SearchAssert.assertFound;

import dev.redlock.crowd.CrowdVotesSearch.Rule;
import dev.redlock.crowd.CrowdVotesSearch.Scope;
import dev.redlock.crowd.CrowdVotesSearch.View;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The proof that the votes decide, whatever the queues say: a search through all states of a small model. */
class CrowdVotesSearchTest {

    @ParameterizedTest
    @CsvSource({"SAME, 67127", "DIFFERENT, 249955", "ENDING, 314732"})
    void twoClientsExcludeAndWakeEachOther(View view, long stateCount) {
        assertProtocol("two clients, ", new Scope(view, false, true), stateCount);
    }

    @ParameterizedTest
    @Tag("exhaustive")
    @CsvSource({"CHANGING, 732107"})
    void aChangeOfTheCoordinatorLeavesNobodyBehind(View view, long stateCount) {
        assertProtocol("two clients, ", new Scope(view, false, true), stateCount);
    }

    @ParameterizedTest
    @Tag("exhaustive")
    @CsvSource({"SAME, 601089", "DIFFERENT, 1635829"})
    void aClientWithoutAQueueIsExcludedToo(View view, long stateCount) {
        assertProtocol("and one without a queue, ", new Scope(view, true, false), stateCount);
    }

    private static void assertProtocol(String name, Scope scope, long stateCount) {
        assertClean(name + scope.view(), new CrowdVotesSearch(Rule.PRODUCT, scope),
                stateCount);
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "PRODUCT")
    void findsTheErrorOfEachWrongRule(Rule rule) {
        String text = switch (rule) {
            case PUSH_IS_GRANT, COORDINATOR_IS_ENOUGH, HEAD_REPLACES_KEY -> "two holders";
            default -> "waits beside a free lock";
        };
        View view = switch (rule) {
            case COORDINATOR_IS_ENOUGH, NO_REENTRY_AFTER_ROLLBACK -> View.DIFFERENT;
            case NO_REENTRY_AFTER_END -> View.ENDING;
            case OLD_QUEUE_NOT_LEFT -> View.CHANGING;
            default -> View.SAME;
        };
        assertFound(rule, new CrowdVotesSearch(rule, new Scope(view, false, true)), text);
    }
}
