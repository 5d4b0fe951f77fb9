package dev.redlock.node.send;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Each error has advice, and each advice is true: it names what ends that error, and no other one's fix. */
class ErrorAdviceTest {

    private static final int LENGTH_MAX = 160;

    /** Without a default, so a new kind needs a line here. */
    private static String fixOf(VoteFailure failure) {
        return switch (failure) {
            case NONE -> "nothing";
            case NOT_CONNECTED, CONNECTION_LOST -> "NodeStatus.problem()";
            case QUARANTINED -> "quarantine ends";
            case SLOT_MOVED -> "votes for the slot again";
            case BACK_PRESSURE -> "nodeBackPressure";
            case SILENT -> "nodeTimeout";
            case CLOCK_JUMPED -> "time service";
            case PROMOTED -> "promote no replica";
            case KEYS_LOST -> "do not flush";
            case FENCE_OUT_OF_RANGE -> "counter";
            case LOADING -> "wait until it has loaded";
            case BUSY -> "SCRIPT KILL";
            case OOM -> "maxmemory";
            case READONLY, MASTERDOWN -> "promote it";
            case NOPERM -> "ACL SETUSER";
            case NOAUTH -> "RedlockContext.credentials";
            case MISCONF -> "its log";
            case MOVED, ASK -> "redis-cluster://";
            case TRYAGAIN -> "wait until it has moved";
            case CROSSSLOT -> "braces";
            case CLUSTERDOWN -> "CLUSTER INFO";
            case NOREPLICAS -> "min-replicas-to-write";
            case WRONGTYPE -> "another type";
            case FENCE -> "fencing counter";
            case NOSCRIPT -> "sends them again";
            case ERROR -> "log of the server";
        };
    }

    @ParameterizedTest
    @EnumSource(VoteFailure.class)
    void eachFailureHasItsFix(VoteFailure failure) {
        String advice = ErrorAdvice.of(failure);
        assertTrue(advice.contains(fixOf(failure)), advice);
        assertTrue(advice.length() <= LENGTH_MAX, advice);
        assertFalse(advice.endsWith("."), advice);
        for (VoteFailure other : VoteFailure.values()) {
            boolean hasSameFix = fixOf(other).equals(fixOf(failure));
            assertTrue(hasSameFix || !ErrorAdvice.of(other).equals(advice), () -> other + " and " + failure);
        }
    }

    @ParameterizedTest
    @EnumSource(VoteFailure.class)
    void noRightEndsAnErrorOfAnotherKind(VoteFailure failure) {
        boolean isOfRights = failure == VoteFailure.NOPERM || failure == VoteFailure.ERROR;
        assertEquals(isOfRights, ErrorAdvice.ofCommand(failure.name(), "").contains("allow the command")
                && failure.isErrorReply());
    }

    /** These are no votes, because the handshake ends with them. */
    @ParameterizedTest
    @CsvSource({"WRONGPASS, user or the password", "DENIED, protected mode", "ERR, renamed or disabled",
        "QUOTA, log of the server", "error reply, log of the server"})
    void otherCodesHaveAdvice(String code, String fix) {
        assertTrue(ErrorAdvice.of(code).contains(fix), ErrorAdvice.of(code));
    }

    @Test
    void aCodeOfAVoteIsFoundByItsName() {
        Set<VoteFailure> found = new HashSet<>();
        Stream.of(VoteFailure.values()).filter(VoteFailure::isErrorReply).forEach(failure -> {
            found.add(VoteFailure.ofCode(failure.name()));
            assertEquals(failure, VoteFailure.ofCode(failure.name()));
        });
        assertFalse(found.contains(VoteFailure.SILENT));
        assertEquals(VoteFailure.ERROR, VoteFailure.ofCode("SILENT"));
        assertEquals(VoteFailure.ERROR, VoteFailure.ofCode(""));
    }
}
