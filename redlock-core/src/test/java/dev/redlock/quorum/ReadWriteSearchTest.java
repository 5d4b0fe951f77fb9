package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.quorum.ReadWriteSearch.Client;
import dev.redlock.quorum.ReadWriteSearch.Rule;
import java.util.Arrays;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The proof of the rules of read-write locks: a search through all states of a small model. */
class ReadWriteSearchTest {

    /** The number of states is part of the proof: a change of the model shows in it. */
    private static void assertClean(long stateCount, boolean isRestarting, Client... clients) {
        ReadWriteSearch search = new ReadWriteSearch(Rule.PRODUCT, isRestarting, clients);
        long startNs = System.nanoTime();
        assertNull(search.run());
        System.out.println("read-write search, " + Arrays.toString(clients) + (isRestarting ? ", restarts" : "")
                + ": " + search.stateCount() + " states, no violation, " + (System.nanoTime() - startNs) / 1_000_000
                + " ms");
        assertEquals(stateCount, search.stateCount(), "states");
    }

    @Test
    void aWriterExcludesAReaderWhileNodesRestart() {
        assertClean(254_642, true, Client.READER, Client.WRITER);
    }

    @Test
    @Tag("exhaustive")
    void aWriterExcludesReadersOneOfWhichCrashes() {
        assertClean(777_228, false, Client.READER_THAT_CRASHES, Client.READER_WITHOUT_EXTENSION,
                Client.WRITER_WITHOUT_EXTENSION);
    }

    @Test
    void theEntryOfAReaderThatCrashesExpiresWhileAnotherExtends() {
        assertClean(48_777, true, Client.READER_THAT_CRASHES, Client.READER);
    }

    @Test
    @Tag("exhaustive")
    void writersExcludeEachOtherAndAReader() {
        assertClean(1_499_545, false, Client.READER_WITHOUT_EXTENSION, Client.WRITER_WITHOUT_EXTENSION,
                Client.WRITER_WITHOUT_EXTENSION);
    }

    private static void assertFound(String violation, Rule rule) {
        String found = new ReadWriteSearch(rule, false, Client.READER_THAT_CRASHES, Client.READER,
                Client.WRITER_WITHOUT_EXTENSION).run();
        assertNotNull(found, "nothing was found");
        assertTrue(found.startsWith(violation), found);
    }

    @Test
    void findsTheReaderThatOthersKeepAlive() {
        assertFound("the entry of a reader lives on", Rule.SHARED_EXPIRY);
    }

    @Test
    void findsTheWriterThatReadersOvertake() {
        assertFound("a reader overtakes a writer", Rule.RESERVATION_IGNORED);
    }

    @Test
    void findsThatAReaderNeedsAMajority() {
        assertFound("a writer beside a reader", Rule.ONE_NODE_READS);
    }

    @Test
    void findsThatAReservationIsNoLock() {
        assertFound("a writer beside a reader", Rule.RESERVATION_TAKES);
    }
}
