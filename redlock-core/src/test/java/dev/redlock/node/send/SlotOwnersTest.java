package dev.redlock.node.send;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class SlotOwnersTest {

    private static final int SLOT = 5;

    private long nowNs = Long.MAX_VALUE - 50;
    private final SlotOwners owners = new SlotOwners(() -> nowNs, null);

    @Test
    void aSilenceThatIsProlongedCountsFromItsStart() {
        owners.silence(SLOT, 100);
        nowNs += 60;
        owners.prolong(1_000);
        assertEquals(940, owners.silenceLeftNs());
        assertEquals(1, owners.silentCount());
        nowNs += 939;
        assertTrue(owners.isSilent(SLOT));
        nowNs++;
        assertFalse(owners.isSilent(SLOT));
    }

    @Test
    void aSilenceThatHasEndedIsNotProlonged() {
        owners.silence(SLOT, 100);
        nowNs += 101;
        owners.prolong(1_000);
        assertEquals(0, owners.silenceLeftNs());
        assertEquals(0, owners.silentCount());
    }
}
