package dev.redlock.node.send;

/**
 * The slot of a key in a cluster: the CRC16 of the key, or of its hash tag, modulo the number of slots.
 *
 * <p>The hash tag is the text between the first opening brace and the next closing brace, unless it is empty.
 *
 * @threading any thread
 */
public final class KeySlot {

    /** Slots of every cluster. */
    public static final int COUNT = 16_384;

    /** The polynomial of XMODEM: x^16 + x^12 + x^5 + 1. */
    private static final int CRLF_BYTES = 2;
    private static final int POLYNOMIAL = 0x1021;
    private static final char[] TABLE = table();

    private KeySlot() {
    }

    private static char[] table() {
        char[] table = new char[256];
        for (int i = 0; i < table.length; i++) {
            int crc = i << 8;
            for (int bit = 0; bit < 8; bit++) {
                crc = crc << 1 ^ ((crc & 0x8000) == 0 ? 0 : POLYNOMIAL);
            }
            table[i] = (char) crc;
        }
        return table;
    }

    /** The slot of the key whose name is in some bytes, 0 to {@link #COUNT} - 1. */
    public static int of(byte[] bytes, int start, int length) {
        int end = start + length;
        int open = indexOf('{', bytes, start, end);
        int close = open < 0 ? -1 : indexOf('}', bytes, open + 1, end);
        return close > open + 1 ? crc16(bytes, open + 1, close) & COUNT - 1 : crc16(bytes, start, end) & COUNT - 1;
    }

    /** The slot of a key that is encoded as a bulk string, {@code $6\r\norders\r\n}. */
    public static int ofBulk(byte[] bulk) {
        int start = indexOf('\n', bulk, 0, bulk.length) + 1;
        return of(bulk, start, bulk.length - start - CRLF_BYTES);
    }

    private static int indexOf(char wanted, byte[] bytes, int start, int end) {
        for (int i = start; i < end; i++) {
            if (bytes[i] == wanted) {
                return i;
            }
        }
        return -1;
    }

    static int crc16(byte[] bytes, int start, int end) {
        int crc = 0;
        for (int i = start; i < end; i++) {
            crc = (crc & 0xff) << 8 ^ TABLE[crc >>> 8 ^ bytes[i] & 0xff];
        }
        return crc;
    }
}
