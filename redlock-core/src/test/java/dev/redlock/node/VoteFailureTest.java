package dev.redlock.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class VoteFailureTest {

    private static VoteFailure of(final String error) {
        final byte[] bytes = ("-" + error + "\r\n").getBytes(StandardCharsets.UTF_8);
        final ByteBuf buf = Unpooled.wrappedBuffer(bytes);
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
        "OOM | OOM",
        "ERR unknown command | ERROR",
        "BUSYKEY Target key name already exists. | ERROR",
        "BUSYGROUP Consumer Group name already exists | ERROR",
        "loading | ERROR",
        "LOADIN | ERROR",
        "NOT_CONNECTED never comes from a node | ERROR",
        "SILENT neither does this | ERROR",
        "NOSCRIPT: | ERROR"})
    void tellsErrorsApartByTheirFirstWord(final String error, final VoteFailure kind) {
        assertEquals(kind, of(error));
    }

    @Test
    void anEmptyErrorIsAnError() {
        assertEquals(VoteFailure.ERROR, of(""));
        assertEquals(VoteFailure.ERROR, of(" "));
    }

    @ParameterizedTest
    @EnumSource(VoteFailure.class)
    void eachHasAnOrdinalThatFitsAByteAndAText(final VoteFailure failure) {
        assertEquals(failure, VoteFailure.of((byte) failure.ordinal()));
        assertFalse(failure.text().isBlank());
    }
}
