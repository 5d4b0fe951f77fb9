package dev.redlock.node.send;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An error reply that redirects a command to another master of the cluster.
 *
 * @param isAsk true for {@code ASK}: this command alone; false for {@code MOVED}: the slot has another owner
 * @param slot  the slot of the key, 0 to {@link KeySlot#COUNT} - 1
 * @param host  the host of the other master; null for the host of the server that replied
 * @param port  its port
 * @threading immutable
 */
public record SlotRedirect(boolean isAsk, int slot, String host, int port) {

    /** Longer than any host name with the rest of the line. */
    static final int LENGTH_MAX = 300;

    /** An IPv6 address has no brackets, so the last colon precedes the port. */
    private static final Pattern LINE = Pattern.compile("(MOVED|ASK) ([0-9]{1,5}) ([0-9A-Za-z._:-]*):([0-9]{1,5})");
    private static final int PORT_MAX = 65_535;

    /** The redirection of an error without its leading dash; null if the error is another one or malformed. */
    static SlotRedirect parse(String error) {
        if (error.length() > LENGTH_MAX) {
            return null;
        }
        Matcher line = LINE.matcher(error);
        if (!line.matches()) {
            return null;
        }
        int slot = Integer.parseInt(line.group(2));
        int port = Integer.parseInt(line.group(4));
        if (slot >= KeySlot.COUNT || port < 1 || port > PORT_MAX) {
            return null;
        }
        return new SlotRedirect(line.group(1).equals("ASK"), slot, line.group(3).isEmpty() ? null : line.group(3),
                port);
    }
}
