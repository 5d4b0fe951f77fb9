package dev.redlock.node.send;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SlotRedirectTest {

    @ParameterizedTest
    @CsvSource({"MOVED 3999 127.0.0.1:6381, false, 3999, 127.0.0.1, 6381",
        "ASK 0 node-1.example:1, true, 0, node-1.example, 1",
        "MOVED 16383 ::1:65535, false, 16383, ::1, 65535", "MOVED 5 :6379, false, 5, , 6379"})
    void readsRedirections(String line, boolean isAsk, int slot, String host, int port) {
        assertEquals(new SlotRedirect(isAsk, slot, host, port), SlotRedirect.parse(line));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "MOVED", "MOVED 1", "MOVED 16384 h:1", "MOVED -1 h:1", "MOVED 1 h:0", "MOVED 1 h:65536",
        "MOVED 1 h", "MOVED 1 h:", "MOVED  1 h:1", "moved 1 h:1", "ASK 1 h:1 x", "ASK 1 h h:1", "ASKING 1 h:1",
        "MOVED 99999 h:1", "MOVED 1 h\r:1", "MOVED 1 h/:1", "ERR MOVED 1 h:1"})
    void ignoresWhatIsNoRedirection(String line) {
        assertNull(SlotRedirect.parse(line));
    }

    @Test
    void ignoresLongLines() {
        String host = "h".repeat(SlotRedirect.LENGTH_MAX - "MOVED 1 :1".length());
        assertNotNull(SlotRedirect.parse("MOVED 1 " + host + ":1"));
        assertNull(SlotRedirect.parse("MOVED 1 h" + host + ":1"));
    }

    @Property(tries = 2_000)
    void neverThrows(@ForAll String text) {
        SlotRedirect.parse(text);
        SlotRedirect.parse("MOVED " + text);
        SlotRedirect.parse("ASK 1 " + text);
    }
}
