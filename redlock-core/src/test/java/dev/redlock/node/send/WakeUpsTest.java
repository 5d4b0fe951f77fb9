package dev.redlock.node.send;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class WakeUpsTest {

    private static final long SECOND_NS = 1_000_000_000;
    private final WakeUps wakeUps = new WakeUps();

    private void acceptsExactly(int count, long nowNs) {
        for (int i = 0; i < count; i++) {
            assertTrue(wakeUps.onPush(nowNs), "push " + i);
        }
        assertFalse(wakeUps.onPush(nowNs), "push " + count);
    }

    @Test
    void aServerMaySendSomePushesWithoutARegistration() {
        acceptsExactly(WakeUps.EXCESS_MAX, SECOND_NS);
    }

    @Test
    void eachRegistrationAllowsThePushesOfTwoKeys() {
        wakeUps.onRegister(1);
        wakeUps.onRegister(1);
        acceptsExactly(4 + WakeUps.EXCESS_MAX, SECOND_NS);
    }

    /** A release of a set of 64 pushes each of its keys. */
    @Test
    void aCommandRegistersEachOfItsKeys() {
        wakeUps.onRegister(64);
        acceptsExactly(128 + WakeUps.EXCESS_MAX, SECOND_NS);
    }

    @Test
    void eachEntryInAQueueAllowsEightMessages() {
        wakeUps.onEntered();
        wakeUps.onEntered();
        for (int i = 0; i < 16 + WakeUps.EXCESS_MAX; i++) {
            assertTrue(wakeUps.onMessage(SECOND_NS), "message " + i);
        }
        assertFalse(wakeUps.onMessage(SECOND_NS));
    }

    @Test
    void messagesAndInvalidationsAreExpectedApart() {
        wakeUps.onEntered();
        acceptsExactly(WakeUps.EXCESS_MAX, SECOND_NS);
        assertTrue(wakeUps.onMessage(SECOND_NS), "still expected");
        wakeUps.onRegister(1);
        for (int i = 0; i < 7; i++) {
            assertTrue(wakeUps.onMessage(SECOND_NS), "message " + i);
        }
        assertFalse(wakeUps.onMessage(SECOND_NS), "a registration allows no message");
    }

    @Test
    void entriesThatGetNoMessageDoNotAddUpWithoutLimit() {
        for (int i = 0; i < 1_000_000; i++) {
            wakeUps.onEntered();
        }
        for (int i = 0; i < (1 << 17) + WakeUps.EXCESS_MAX; i++) {
            assertTrue(wakeUps.onMessage(SECOND_NS));
        }
        assertFalse(wakeUps.onMessage(SECOND_NS));
    }

    @Test
    void otherPushesCountWithTheirWeight() {
        wakeUps.onRegister(1);
        assertTrue(wakeUps.onOtherPush(SECOND_NS, WakeUps.EXCESS_MAX - 1), "no registration is used");
        acceptsExactly(3, SECOND_NS);
        assertFalse(wakeUps.onOtherPush(SECOND_NS, Integer.MAX_VALUE));
        assertFalse(wakeUps.onOtherPush(SECOND_NS, Integer.MAX_VALUE), "the count does not wrap");
        assertTrue(wakeUps.onOtherPush(2 * SECOND_NS, 1));
    }

    @Test
    void theExcessIsCountedForEachSecond() {
        acceptsExactly(WakeUps.EXCESS_MAX, SECOND_NS);
        assertFalse(wakeUps.onPush(2 * SECOND_NS - 1));
        acceptsExactly(WakeUps.EXCESS_MAX, 2 * SECOND_NS);
    }

    @Test
    void registrationsThatWereNeverPushedDoNotAddUpWithoutLimit() {
        for (int i = 0; i < 1_000_000; i++) {
            wakeUps.onRegister(1);
        }
        acceptsExactly((1 << 20) + WakeUps.EXCESS_MAX, SECOND_NS);
    }

    /** Locks with 10,000 names a second are retained for a minute. Then their traces expire at the same rate. */
    @Test
    void theTracesOfAMinuteMayExpireAtTheRateOfTheirRetention() {
        int rate = 10_000;
        for (int i = 0; i < 60 * rate; i++) {
            wakeUps.onRegister(1);
        }
        for (int i = 0; i < 60 * rate; i++) {
            assertTrue(wakeUps.onPush(SECOND_NS + i * (SECOND_NS / rate)), "push " + i);
        }
    }
}
