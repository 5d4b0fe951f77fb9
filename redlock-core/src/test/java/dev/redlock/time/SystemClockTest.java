package dev.redlock.time;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SystemClockTest {

    @TempDir
    private static Path folder;

    @Test
    void readsTheTimeSinceTheBoot() {
        assertEquals(350_735_470_000_000L, SystemClock.uptimeNs("350735.47 234388.90\n"));
        assertEquals(50_000_000, SystemClock.uptimeNs("0.05 0.00\n"));
        assertEquals(0, SystemClock.uptimeNs("0.00 "));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "1", "1 2", "1.5 2", "1.567 2", ".. 2", "a.bc 2", "99999999999999999999.00 1", "1.05"})
    void anotherTextIsNoTime(String text) {
        assertThrows(RuntimeException.class, () -> SystemClock.uptimeNs(text));
    }

    /** Nobody suspends the machine meanwhile, or the test would not run. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void aMachineThatIsAwakeSleepsForNoTime() {
        NanoClock clock = NanoClock.system();
        long firstNs = known(clock);
        for (int i = 0; i < 100; i++) {
            long sleptNs = known(clock) - firstNs;
            assertTrue(Math.abs(sleptNs) <= NanoClock.SLEPT_ERROR_NS, () -> sleptNs + " ns");
        }
    }

    /** On a busy machine the thread may be stopped in each try. */
    private static long known(NanoClock clock) {
        long sleptNs = NanoClock.UNKNOWN;
        while (sleptNs == NanoClock.UNKNOWN) {
            sleptNs = clock.sleptNs();
        }
        return sleptNs;
    }

    @Test
    void countsTheTimeOfASuspend() throws Exception {
        Path uptime = folder.resolve("uptime");
        SystemClock clock = new SystemClock(uptime);
        Files.writeString(uptime, "100.00 1.00\n");
        long startNs = System.nanoTime();
        long beforeNs = known(clock);
        Files.writeString(uptime, "106.25 1.00\n");
        long sleptNs = known(clock) - beforeNs;
        long tookNs = System.nanoTime() - startNs;
        assertTrue(sleptNs <= 6_250_000_000L && sleptNs >= 6_250_000_000L - tookNs, () -> sleptNs + " ns");
    }

    @Test
    void withoutTheFileItIsNotKnown() {
        assertEquals(NanoClock.UNKNOWN, new SystemClock(folder.resolve("missing")).sleptNs());
        assertEquals(NanoClock.UNKNOWN, new SystemClock(folder).sleptNs());
    }
}
