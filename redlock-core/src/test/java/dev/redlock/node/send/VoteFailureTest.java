package dev.redlock.node.send;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Error replies are classified by their first word. */
class VoteFailureTest {

    private static VoteFailure of(String error) {
        byte[] bytes = ("-" + error + "\r\n").getBytes(StandardCharsets.UTF_8);
        ByteBuf buf = Unpooled.wrappedBuffer(bytes);
        return VoteFailure.ofErrorReply(buf, 1, bytes.length - 3);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "LOADING Redis is loading the dataset in memory | LOADING",
        "BUSY Redis is busy running a script. | BUSY",
        "OOM command not allowed when used memory > 'maxmemory'. | OOM",
        "READONLY You can't write against a read only replica. | READONLY",
        "MASTERDOWN Link with MASTER is down | MASTERDOWN",
        "NOPERM this user has no permissions | NOPERM",
        "NOAUTH Authentication required. | NOAUTH",
        "MISCONF Redis is configured to save RDB snapshots | MISCONF",
        "WRONGTYPE Operation against a key holding the wrong kind of value | WRONGTYPE",
        "NOSCRIPT No matching script. Please use EVAL. | NOSCRIPT",
        "MOVED 3999 127.0.0.1:6381 | MOVED", "ASK 3999 127.0.0.1:6381 | ASK", "TRYAGAIN Multiple keys | TRYAGAIN",
        "CROSSSLOT Keys in request | CROSSSLOT",
        "CLUSTERDOWN Hash slot not served | CLUSTERDOWN",
        "NOREPLICAS Not enough good replicas to write. | NOREPLICAS",
        "OOM command not allowed when used memory > 'maxmemory'. script: 3ef3, on @user_script:1. | OOM",
        "ERR The user executing the script can't run this command script: 3ef3, on @user_script:1. | NOPERM",
        "ERR Error running script (call to f_3): @user_script:1: @user_script: 1: -OOM command not allowed | OOM",
        "ERR Error running script (call to f_3): @user_script:12: @user_script: 12: -NOREPLICAS x | NOREPLICAS",
        "ERR Error running script (call to f_3): @user_script:1: @user_script: 1: -READONLY x | READONLY",
        "ERR Error running script (call to f_3): @user_script:1: WRONGTYPE Operation against a key | WRONGTYPE",
        "ERR Error running script (call to f_3): @user_script:1: -OOM | OOM",
        "ERR Error running script (f_3): @user_script:1: The user executing the script can't x | NOPERM",
        "ERR Error running script (call to f_3): @user_script:1: @user_script: 1: Unknown Redis command | ERROR",
        "ERR Error running script (call to f_3): @user_script:1: OOMPH | ERROR",
        "ERR Error running script (call to f_3): @user_script:1: NOSCRIPT No matching script | ERROR",
        "ERR Error running script (call to f_3): @user_script: | ERROR",
        "ERR Error running script (call to f_3): @user_script:1:  | ERROR",
        "ERR Error running script | ERROR",
        "@user_script: 12: -OOM command not allowed when used memory > 'maxmemory'. | OOM",
        "@user_script: 12: -READONLY x | READONLY",
        "@user_script: 12: Unknown Redis command | ERROR",
        "ERR value is not an integer or out of range script: 3ef3, on @user_script:14. | FENCE",
        "ERR increment or decrement would overflow script: 3ef3, on @user_script:14. | FENCE",
        "ERR Error running script (call to f_3): @user_script:14: ERR value is not an integer or out of range | FENCE",
        "@user_script: 14: -ERR increment or decrement would overflow | FENCE",
        "MOVED3999 | ERROR",
        "OOM | OOM",
        "ERR unknown command | ERROR",
        "BUSYKEY Target key name already exists. | ERROR",
        "BUSYGROUP Consumer Group name already exists | ERROR",
        "loading | ERROR",
        "LOADIN | ERROR",
        "NOT_CONNECTED never comes from a node | ERROR",
        "SILENT neither does this | ERROR",
        "NOSCRIPT: | ERROR"})
    void distinguishesErrorsByTheirFirstWord(String error, VoteFailure kind) {
        assertEquals(kind, of(error));
    }

    @Test
    void anEmptyErrorIsAnError() {
        assertEquals(VoteFailure.ERROR, of(""));
        assertEquals(VoteFailure.ERROR, of(" "));
    }

    private static String codeOf(String error, String before) {
        byte[] bytes = ("-" + error + "\r\n").getBytes(StandardCharsets.UTF_8);
        return VoteFailure.codeOf(Unpooled.wrappedBuffer(bytes), 1, bytes.length - 3, before);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"QUOTA is used up | QUOTA", "ERR x | ERR", "X | X", "A_2 b | A_2",
        "secret is out | error reply", "Secret | error reply", "'' | error reply", "' ' | error reply",
        "A-B | error reply", "ABCDEFGHIJKLMNOPQRST x | ABCDEFGHIJKLMNOPQRST",
        "ABCDEFGHIJKLMNOPQRSTU x | error reply"})
    void theCodeIsTheFirstWordIfItLooksLikeOne(String error, String code) {
        assertEquals(code, codeOf(error, ""));
        assertEquals(code, codeOf(error, "ERROR"));
    }

    @Test
    void returnsTheSameStringForTheSameCode() {
        String first = codeOf("QUOTA a", "");
        assertSame(first, codeOf("QUOTA b", first), "nothing is allocated for each error");
    }

    @ParameterizedTest
    @EnumSource(VoteFailure.class)
    void eachFailureHasATextAndAnOrdinalThatFitsAByte(VoteFailure failure) {
        assertEquals(failure, VoteFailure.of((byte) failure.ordinal()));
        assertFalse(failure.text().isBlank());
    }
}
