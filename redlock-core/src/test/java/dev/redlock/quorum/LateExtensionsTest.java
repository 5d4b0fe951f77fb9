package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import org.junit.jupiter.api.Test;

/** The replies that count after an extension without a reply. */
class LateExtensionsTest {

    private final LateExtensions late = new LateExtensions();

    private void assertMayShorten(int nodeIndex, long shortestLateTtlMs) {
        assertFalse(late.mayShorten(nodeIndex, shortestLateTtlMs - 1), "a shorter one");
        assertFalse(late.mayShorten(nodeIndex, shortestLateTtlMs), "an equal one");
        assertEquals(true, late.mayShorten(nodeIndex, shortestLateTtlMs + 1), "a longer one");
    }

    private void assertMayNotShorten(int nodeIndex) {
        assertFalse(late.mayShorten(nodeIndex, Long.MAX_VALUE), "node " + nodeIndex);
    }

    @Test
    void withoutALateExtensionEveryReplyCounts() {
        assertMayNotShorten(0);
        late.onSent(300);
        assertMayNotShorten(0);
        assertMayNotShorten(62);
    }

    @Test
    void aReplyToALongerExtensionDoesNotCountAtTheNodeOfTheLateOne() {
        late.onSent(300);
        late.onUnanswered(62, true);
        assertMayShorten(62, 300);
        assertMayNotShorten(61);
        late.onSent(500);
        assertMayShorten(62, 300);
    }

    @Test
    void theLastExtensionCountsWithItsOwnTtl() {
        late.onSent(300);
        late.onSent(500);
        late.onUnanswered(1, true);
        assertMayShorten(1, 500);
    }

    @Test
    void anEarlierExtensionCountsAsTheShortest() {
        late.onSent(300);
        late.onSent(500);
        late.onUnanswered(1, false);
        assertMayShorten(1, 300);
    }

    @Test
    void theShortestLateExtensionDecides() {
        late.onSent(300);
        late.onUnanswered(1, true);
        late.onSent(500);
        late.onUnanswered(2, true);
        assertMayShorten(1, 300);
        assertMayShorten(2, 300);
    }

    @Test
    void aNewTokenStartsAnew() {
        late.onSent(300);
        late.onUnanswered(1, true);
        late.reset();
        assertMayNotShorten(1);
        late.onSent(500);
        late.onUnanswered(1, false);
        assertMayShorten(1, 500);
    }
}
