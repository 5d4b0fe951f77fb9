package dev.redlock.close;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.CloseReport;
import dev.redlock.testing.Refusal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A {@link CloseReport} rejects invalid values and is immutable. */
class CloseReportTest {

    @Test
    void constructorRejectsInvalidValues() {
        Refusal.ofArgument("released count -1 is negative: give zero or more", () -> new CloseReport(-1, List.of()));
        Refusal.ofNull("unreleased resources are null: give an empty list for none", () -> new CloseReport(0, null));
        assertThrows(NullPointerException.class, () -> new CloseReport(0, Arrays.asList("r", null)));
    }

    @Test
    void unreleasedIsImmutable() {
        List<String> mine = new ArrayList<>(List.of("r"));
        CloseReport report = new CloseReport(Integer.MAX_VALUE, mine);
        mine.clear();
        assertEquals(List.of("r"), report.unreleased());
        assertThrows(UnsupportedOperationException.class, () -> report.unreleased().clear());
    }

    @Test
    void reportIsCleanWithoutUnreleasedResources() {
        assertTrue(new CloseReport(0, List.of()).isClean());
        assertFalse(new CloseReport(1, List.of("r")).isClean());
    }
}
