package dev.redlock.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Histories made by hand: what the checker permits, and each wrong history that it must reject. */
class HistoryCheckerTest {
    private final List<String> lines = new ArrayList<>(List.of("# a comment"));

    @Test
    void holdersOneAfterTheOtherAreLegal() {
        acquire(1, 10, 20, 5, 100);
        release(1, 30, 40, "ok", 30);
        acquire(2, 15, 35, 6, 135);
        assertLegal();
    }

    @Test
    void twoHoldersAreIllegal() {
        acquire(1, 10, 20, 0, 100);
        release(1, 60, 70, "ok", 60);
        acquire(2, 30, 50, 0, 150);
        assertIllegal();
    }

    @Test
    void holderBesideAnotherWhoseOutcomeIsLateIsLegalOnlyAfterItsEnd() {
        acquire(1, 10, 80, 5, 10);
        acquire(2, 20, 40, 6, 100);
        assertLegal();
        lines.replaceAll(line -> line.startsWith("80 1 ok") ? line.replace(" 5 10 ", " 5 90 ") : line);
        assertIllegal();
    }

    @Test
    void expiryEndsALeaseAndNotBefore() {
        acquire(1, 10, 20, 0, 100);
        acquire(2, 90, 100, 0, 200);
        assertLegal();
        lines.clear();
        acquire(1, 10, 20, 0, 100);
        acquire(2, 90, 99, 0, 200);
        assertIllegal();
    }

    @Test
    void lostLeaseEndsWhereItsHolderLastFoundItHeld() {
        acquire(1, 10, 20, 0, 100);
        release(1, 70, 80, "fail", 40);
        acquire(2, 30, 41, 0, 200);
        assertLegal();
        acquire(3, 30, 39, 0, 200);
        assertIllegal();
    }

    @Test
    void extensionLengthensALease() {
        acquire(1, 10, 20, 0, 100);
        extend(1, 50, 60, "ok", 160);
        acquire(2, 110, 130, 0, 200);
        assertIllegal();
    }

    @Test
    void failedExtensionDoesNot() {
        acquire(1, 10, 20, 0, 100);
        extend(1, 50, 60, "fail", 0);
        acquire(2, 110, 130, 0, 200);
        assertLegal();
    }

    @Test
    void extensionOfAnEndedLeaseIsIllegal() {
        acquire(1, 10, 20, 5, 100);
        release(1, 30, 40, "ok", 30);
        acquire(2, 50, 60, 6, 150);
        extend(1, 70, 80, "ok", 170);
        assertIllegal();
    }

    @Test
    void equalTokensAreIllegal() {
        acquire(1, 10, 20, 5, 100);
        release(1, 30, 40, "ok", 30);
        acquire(2, 50, 60, 5, 150);
        assertIllegal();
    }

    @Test
    void tokenGoingBackIsIllegal() {
        acquire(1, 10, 20, 5, 100);
        release(1, 30, 40, "ok", 30);
        acquire(2, 50, 60, 4, 150);
        assertIllegal();
    }

    @Test
    void tokensOfConcurrentAcquiresMayComeInAnyOrderOfReplies() {
        acquire(1, 10, 90, 5, 10);
        acquire(2, 10, 30, 6, 100);
        assertLegal();
    }

    @Test
    void releaseOfAnothersLockIsIllegal() {
        acquire(1, 10, 20, 5, 100);
        release(2, 30, 40, "ok", 30);
        assertIllegal();
    }

    @Test
    void releaseOfAnExpiredLeaseThatAnotherHoldsIsIllegal() {
        acquire(1, 10, 20, 0, 50);
        acquire(2, 60, 70, 0, 150);
        release(1, 80, 90, "ok", 80);
        assertIllegal();
    }

    @Test
    void secondReleaseIsIllegal() {
        acquire(1, 10, 20, 5, 100);
        release(1, 30, 40, "ok", 30);
        release(1, 50, 60, "ok", 50);
        assertIllegal();
    }

    @Test
    void releaseOfUnknownOutcomeEndsTheLeaseOfItsHolder() {
        acquire(1, 10, 20, 0, 100);
        release(1, 30, 40, "info", 30);
        acquire(2, 25, 35, 0, 150);
        assertLegal();
        acquire(3, 21, 29, 0, 150);
        assertIllegal();
    }

    @Test
    void leaseOfAKilledProcessLastsUntilItsValidityEnds() {
        acquire(1, 10, 20, 0, 100);
        invoke(1, 30, "extend", "plain", 0, 0);
        acquire(2, 90, 110, 0, 150);
        assertLegal();
        acquire(3, 40, 50, 0, 60);
        assertIllegal();
    }

    @Test
    void acquireWithoutAnOutcomeForbidsNothing() {
        invoke(1, 10, "acquire", "plain", 0, 0);
        acquire(2, 20, 30, 5, 100);
        line(110, 1, "info", "acquire", "plain", 0, 0);
        assertLegal();
    }

    @Test
    void readLocksOverlapWithReadLocksOnly() {
        operation(1, 10, 20, "acquire", "reader", "ok", 0, 100);
        operation(2, 15, 30, "acquire", "reader", "ok", 0, 90);
        operation(3, 95, 105, "acquire", "writer", "ok", 7, 200);
        assertLegal();
        operation(4, 110, 120, "acquire", "reader", "ok", 0, 300);
        assertIllegal();
    }

    @Test
    void writerBesideAReadLockIsIllegal() {
        operation(1, 10, 20, "acquire", "reader", "ok", 0, 100);
        operation(2, 30, 40, "acquire", "writer", "ok", 0, 100);
        assertIllegal();
    }

    @Test
    void semaphoreHasTwoPermitsBesideTheLockOfItsName() {
        operation(1, 10, 20, "acquire", "permit", "ok", 0, 100);
        operation(2, 10, 20, "acquire", "permit", "ok", 0, 100);
        acquire(3, 10, 20, 0, 100);
        assertLegal();
        operation(4, 30, 40, "acquire", "permit", "ok", 0, 100);
        assertIllegal();
    }

    @Test
    void setHoldsEachOfItsResources() {
        line(10, 1, "invoke", "acquire", "plain", 0, 0, "a,b");
        line(20, 1, "ok", "acquire", "plain", 5, 100, "a,b");
        line(30, 2, "invoke", "acquire", "plain", 0, 0, "c");
        line(40, 2, "ok", "acquire", "plain", 1, 100, "c");
        assertLegal();
        line(50, 3, "invoke", "acquire", "plain", 0, 0, "b");
        line(60, 3, "ok", "acquire", "plain", 6, 100, "b");
        assertIllegal();
    }

    @Test
    void lateWriteOfAPausedHolderIsRejectedByTheRegister() {
        pausedHolderAndTheNext();
        operation(1, 150, 160, "write", "plain", "fail", 5, 0);
        operation(2, 170, 180, "read", "plain", "ok", 6, 0);
        assertLegal();
    }

    @Test
    void lateWriteOfAPausedHolderThatIsAcceptedIsIllegal() {
        pausedHolderAndTheNext();
        operation(1, 150, 160, "write", "plain", "ok", 5, 0);
        assertIllegal();
    }

    @Test
    void readOfALostWriteIsIllegal() {
        pausedHolderAndTheNext();
        operation(2, 150, 160, "read", "plain", "ok", 5, 0);
        assertIllegal();
    }

    @Test
    void writeThatIsRejectedWithoutAReasonIsIllegal() {
        acquire(1, 10, 20, 5, 100);
        operation(1, 30, 40, "write", "plain", "fail", 5, 0);
        assertIllegal();
    }

    @Test
    void writeWithATokenThatNobodyGotIsIllegal() {
        acquire(1, 10, 20, 5, 100);
        operation(1, 30, 40, "write", "plain", "ok", 6, 0);
        assertIllegal();
    }

    @Test
    void writeOfUnknownOutcomeMayOrMayNotHaveTakenEffect() {
        acquire(1, 10, 20, 5, 100);
        operation(1, 30, 40, "write", "plain", "info", 5, 0);
        operation(2, 50, 60, "read", "plain", "ok", 0, 0);
        assertLegal();
        operation(2, 70, 80, "read", "plain", "ok", 5, 0);
        assertLegal();
        operation(2, 90, 95, "read", "plain", "ok", 0, 0);
        assertIllegal();
    }

    @Test
    void processWithTwoCallsIsMalformed() {
        invoke(1, 10, "acquire", "plain", 0, 0);
        invoke(1, 20, "acquire", "plain", 0, 0);
        assertIllegal();
    }

    private void pausedHolderAndTheNext() {
        acquire(1, 10, 20, 5, 100);
        operation(1, 30, 40, "write", "plain", "ok", 5, 0);
        acquire(2, 105, 110, 6, 300);
        operation(2, 120, 130, "write", "plain", "ok", 6, 0);
    }

    private void acquire(int process, long callNs, long endNs, long token, long untilNs) {
        operation(process, callNs, endNs, "acquire", "plain", "ok", token, untilNs);
    }

    private void extend(int process, long callNs, long endNs, String type, long untilNs) {
        operation(process, callNs, endNs, "extend", "plain", type, 0, untilNs);
    }

    private void release(int process, long callNs, long endNs, String type, long untilNs) {
        invoke(process, callNs, "release", "plain", 0, untilNs);
        line(endNs, process, type, "release", "plain", 0, 0);
    }

    private void operation(int process, long callNs, long endNs, String operation, String kind, String type,
            long token, long untilNs) {
        invoke(process, callNs, operation, kind, operation.equals("write") ? token : 0, 0);
        line(endNs, process, type, operation, kind, token, untilNs);
    }

    private void invoke(int process, long timeNs, String operation, String kind, long token, long untilNs) {
        line(timeNs, process, "invoke", operation, kind, token, untilNs);
    }

    private void line(long timeNs, int process, String type, String operation, String kind, long token, long untilNs) {
        line(timeNs, process, type, operation, kind, token, untilNs, "a");
    }

    private void line(long timeNs, int process, String type, String operation, String kind, long token, long untilNs,
            String resources) {
        lines.add(timeNs + " " + process + " " + type + " " + operation + " " + resources + " " + kind + " " + token
                + " " + untilNs + " -");
    }

    private void assertLegal() {
        assertEquals(List.of(), HistoryChecker.violations(lines));
    }

    private void assertIllegal() {
        assertFalse(HistoryChecker.violations(lines).isEmpty(), lines::toString);
    }
}
