package dev.redlock.engine.watch;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.engine.key.KeyText;
import dev.redlock.engine.key.LockKey;
import dev.redlock.time.TimerWheel;
import java.util.List;
import org.junit.jupiter.api.Test;

class FlightReportsTest {

    /** The loss of a lease is in the middle of a change of state, and its listener hears of it after the report. */
    @Test
    void aTimerThatCannotBeStartedHarmsNoLoss() {
        int[] reports = new int[1];
        FlightReports flight = new FlightReports(task -> reports[0]++, () -> null,
                new TelemetrySetup(new TelemetryOptions(16, 0, null), List.of("node"), null));
        flight.useTimers(new TimerWheel(0, deadlineNs -> {
            throw new IllegalStateException("thrown by a test");
        }));
        LockKey key = new LockKey(KeyText.ofResource("", "orders", 512));
        for (int i = 0; i < 3; i++) {
            flight.onLost(key, i, LossCause.FLUSHED, 1_000 + i);
        }
        assertEquals(1, reports[0], "reports in one second");
    }
}
