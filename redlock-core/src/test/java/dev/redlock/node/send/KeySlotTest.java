package dev.redlock.node.send;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class KeySlotTest {

    private static int slotOf(String key) {
        byte[] bytes = ("##" + key + "}").getBytes(StandardCharsets.ISO_8859_1);
        return KeySlot.of(bytes, 2, bytes.length - 3);
    }

    /** CRC16 one bit at a time, as the specification of XMODEM has it. */
    private static int bitwise(byte[] bytes, int start, int end) {
        int crc = 0;
        for (int i = start; i < end; i++) {
            crc ^= (bytes[i] & 0xff) << 8;
            for (int bit = 0; bit < 8; bit++) {
                crc = (crc & 0x8000) != 0 ? (crc << 1 ^ 0x1021) & 0xffff : crc << 1 & 0xffff;
            }
        }
        return crc;
    }

    /** The words of the cluster specification: the text between the first brace and the next closing one. */
    private static String hashed(String key) {
        int open = key.indexOf('{');
        int close = open < 0 ? -1 : key.indexOf('}', open);
        return close > open + 1 ? key.substring(open + 1, close) : key;
    }

    @Test
    void usesTheChecksumOfTheSpecification() {
        byte[] digits = "123456789".getBytes(StandardCharsets.US_ASCII);
        assertEquals(0x31C3, KeySlot.crc16(digits, 0, digits.length));
    }

    @Test
    void checksumsEachPairOfBytesLikeTheDefinition() {
        byte[] bytes = new byte[3];
        for (int pair = 0; pair < 1 << 16; pair++) {
            bytes[1] = (byte) (pair >>> 8);
            bytes[2] = (byte) pair;
            assertEquals(bitwise(bytes, 1, 3), KeySlot.crc16(bytes, 1, 3));
            assertEquals(bitwise(bytes, 0, 3), KeySlot.crc16(bytes, 0, 3));
        }
    }

    /** The replies of a server to CLUSTER KEYSLOT. */
    @ParameterizedTest
    @CsvSource({"foo, 12182", "orders, 105", "'{user1000}.following', 3443", "'{user1000}.followers', 3443",
        "'foo{}{bar}', 8363", "'foo{{bar}}zap', 4015", "'foo{bar}{zap}', 5061", "bar, 5061"})
    void agreesWithServers(String key, int slot) {
        assertEquals(slot, slotOf(key));
    }

    /** All names of up to seven characters of two braces and two letters. */
    @Test
    void findsTheHashTagOfEveryName() {
        char[] alphabet = {'{', '}', 'a', 'b'};
        for (int length = 1; length <= 7; length++) {
            for (int number = 0; number < 1 << 2 * length; number++) {
                StringBuilder key = new StringBuilder();
                for (int i = 0; i < length; i++) {
                    key.append(alphabet[number >>> 2 * i & 3]);
                }
                byte[] hashed = hashed(key.toString()).getBytes(StandardCharsets.ISO_8859_1);
                assertEquals(bitwise(hashed, 0, hashed.length) % KeySlot.COUNT, slotOf(key.toString()), key::toString);
            }
        }
    }
}
