package dev.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.resp.RespLimits;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.RespValueReader;
import dev.redlock.transport.NodeAddress;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TopTableTest {

    private static final TopRow LONG_NAME = row("shop:customers/0000000000000000000000000000/cart/17", "lock",
            "a-long-name-of-a-pod-7c9f:4711", 8_200, 0, false);
    private static final TopRow AWAITED = row("orders/42", "fenced", "orders-7c9f:4711", 512, 12, false);
    private static final TopRow FOREVER = row("\u65e5\u672c\u8a9e/\u6ce8\u6587\u756a\u53f7/000000000042", "permit 255",
            "-", Long.MAX_VALUE, 1, true);

    private static TopRow row(String name, String kind, String holder, long remainingMs, long waiters,
            boolean atLeast) {
        return new TopRow(null, name, kind, 3, holder, remainingMs, waiters, atLeast);
    }

    private static List<String> lines(int width, int linesMax, List<TopRow> rows, boolean isCut, boolean isIncomplete) {
        try (LockNodes nodes = noNodes()) {
            LockWatch.Snapshot snapshot = new LockWatch.Snapshot(rows, isCut, isIncomplete, 0);
            return new TopTable(width).lines("12:34:56", nodes, snapshot, rows, linesMax);
        }
    }

    /** Nobody answers there. */
    private static LockNodes noNodes() {
        List<NodeAddress> addresses = Stream.of("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3")
                .map(NodeAddress::parse)
                .toList();
        return LockNodes.connect(addresses, Duration.ofSeconds(5), ClientTls.DEFAULTS);
    }

    @Test
    void aTableHas80Columns() {
        assertEquals(List.of("12:34:56  3 locks held, 2 waited for, 0 of 3 nodes",
                "no answer from 127.0.0.1:1: cannot connect: Connection refused",
                "no answer from 127.0.0.1:2: cannot connect: Connection refused",
                "no answer from 127.0.0.1:3: cannot connect: Connection refused",
                "Not all keys are scanned yet: more locks may follow.",
                "There are more locks: give a longer --prefix, or a higher --limit.",
                "KEY                        KIND        NODES  HOLDER            EXPIRES  WAITING",
                "shop:custom...000/cart/17  lock        3/3    a-long-...f:4711    8.2 s        -",
                "orders/42                  fenced      3/3    orders-7c9f:4711   512 ms       12",
                "\u65e5\u672c\u8a9e/\u6ce8\u6587...00000000042  permit 255  3/3    -                   never       1+"),
                lines(80, 99, List.of(LONG_NAME, AWAITED, FOREVER), true, true));
    }

    @Test
    void aTableHasNoMoreLinesThanTheTerminal() {
        List<TopRow> rows = Collections.nCopies(30, AWAITED);
        for (int linesMax = 1; linesMax < 40; linesMax++) {
            List<String> lines = lines(80, linesMax, rows, false, false);
            assertEquals(Math.min(linesMax, 35), lines.size());
            if (linesMax > 5 && linesMax < 35) {
                assertEquals("and " + (30 - (linesMax - 6)) + " more", lines.get(linesMax - 1));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 40, 60, 79, 80, 81, 100, 132, 300})
    void noLineIsWiderThanTheTerminal(int width) {
        List<String> lines = lines(width, 99, List.of(LONG_NAME, AWAITED, FOREVER), true, true);
        lines.forEach(line -> assertTrue(TopTable.columns(line) <= Math.max(width, 3), line));
        if (width >= 132) {
            assertTrue(lines.get(7).contains("a-long-name-of-a-pod-7c9f:4711"), lines.get(7));
        }
    }

    @ParameterizedTest
    @CsvSource({"abcdef, 6, abcdef", "abcdefg, 6, ab...g", "abcdefgh, 7, ab...gh", "abcdef, 3, ...",
        "\u65e5\u672c\u8a9e\u65e5\u672c\u8a9e, 9, \u65e5...\u8a9e", "\ud83d\ude00\ud83d\ude00\ud83d\ude00, 5, ..."})
    void aLongNameLosesItsMiddle(String name, int columns, String expected) {
        assertEquals(expected, TopTable.cut(name, columns));
    }

    @Test
    void marksAboveACharacterTakeNoColumn() {
        assertEquals(3, TopTable.columns("e\u0301\u65e5"));
        assertEquals(2, TopTable.columns("\ud83d\ude00"));
    }

    @Test
    void ordersAreTotal() {
        List<TopRow> rows = new ArrayList<>(List.of(LONG_NAME, FOREVER, AWAITED, row("a", "lock", "-", 1, 1, false)));
        rows.sort(TopRow.Order.WAITERS.comparator);
        assertEquals("[orders/42, a, \u65e5", names(rows).substring(0, 16));
        rows.sort(TopRow.Order.TTL.comparator);
        assertEquals("[a, orders/42, shop:", names(rows).substring(0, 20));
        assertEquals(FOREVER, rows.get(3));
        rows.sort(TopRow.Order.NAME.comparator);
        assertEquals("[a, orders/42, shop:", names(rows).substring(0, 20));
    }

    private static String names(List<TopRow> rows) {
        return rows.stream().map(TopRow::name).toList().toString();
    }

    /** The last ticket, and the last one that was granted; any other content is foreign. */
    @ParameterizedTest
    @CsvSource({"262144, 4", "262146, 2", "65535, 960", "0, 0", "'', 0", "-5, 0", "text, 0",
        "99999999999999999999, 0"})
    void ticketsAreCounted(String value, long waiting) {
        byte[] bytes = ("$" + value.length() + "\r\n" + value + "\r\n").getBytes(StandardCharsets.UTF_8);
        RespValue reply = RespValueReader.readAll(Unpooled.wrappedBuffer(bytes), RespLimits.defaults()).get(0);
        assertEquals(waiting, WaitReading.tickets(reply));
    }

    @Test
    void keysOfWaitersAreKnown() {
        for (String key : Arrays.asList("a:redlock:fence:{a}:queue", "a:redlock:fence:{a}:waiting",
                "a:redlock:reservation", "a:redlock:reservation:tickets")) {
            assertTrue(WaitReading.isOfWaiter(key), key);
        }
        for (String key : Arrays.asList("a", "a:queue", "a:redlock:fence:{a}", "a:redlock:fence:{a}:trace",
                "a:redlock:permit:{a}:0")) {
            assertTrue(!WaitReading.isOfWaiter(key), key);
        }
    }
}
