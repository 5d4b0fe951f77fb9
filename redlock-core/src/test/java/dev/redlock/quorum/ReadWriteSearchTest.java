package dev.redlock.quorum;

import dev.redlock.quorum.ReadWriteSearch.Client;
import dev.redlock.quorum.ReadWriteSearch.Rule;
import dev.redlock.search.SearchAssert;
import java.util.Arrays;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The proof of the rules of read-write locks: a search through all states of a small model. */
class ReadWriteSearchTest {

    private static void assertClean(long stateCount, boolean isRestarting, Client... clients) {
        SearchAssert.assertClean(Arrays.toString(clients) + (isRestarting ? ", restarts" : ""),
                new ReadWriteSearch(Rule.PRODUCT, isRestarting, clients), stateCount);
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
        SearchAssert.assertFound(rule, new ReadWriteSearch(rule, false, Client.READER_THAT_CRASHES, Client.READER,
                Client.WRITER_WITHOUT_EXTENSION), violation);
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
