package dev.redlock.test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.Redlock;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Nodes and clients as parameters. */
class RedlockExtensionTest {

    @RegisterExtension
    static final RedlockExtension FIVE = new RedlockExtension(5);
    private static final Set<RedlockNodes> SEEN = new HashSet<>();

    private RedlockNodes ofThisTest;

    @BeforeEach
    void before(RedlockNodes nodes) {
        ofThisTest = nodes;
    }

    /** Each of them locks the same name. */
    @RepeatedTest(2)
    void eachTestHasItsOwn(Redlock redlock, RedlockNodes nodes) throws InterruptedException {
        assertEquals(5, nodes.count());
        assertSame(ofThisTest, nodes);
        assertTrue(SEEN.add(nodes), "new");
        assertTrue(redlock.tryAcquire("orders", Duration.ofSeconds(30)).isAcquired());
    }

    @Nested
    class OfTheClass {
        private static RedlockNodes shared;

        @BeforeAll
        static void start(RedlockNodes nodes) {
            shared = nodes;
        }

        @Test
        void thoseOfTheClassAreForAllTests(RedlockNodes nodes, Redlock redlock) {
            assertSame(shared, nodes);
            assertTrue(redlock.isQuorumAvailable());
            assertNotSame(null, redlock);
        }

        /** The client of a test is closed at its end, with its locks. */
        @RepeatedTest(2)
        void aLockThatATestLeavesIsFreeInTheNextOne(Redlock redlock) throws InterruptedException {
            assertTrue(redlock.tryAcquire("orders", Duration.ofSeconds(30)).isAcquired());
        }
    }
}
