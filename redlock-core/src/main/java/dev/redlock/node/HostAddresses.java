package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.transport.NodeAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;

/**
 * The addresses of one host name, and the order in which a try connects to them, one after the other:
 * <ol>
 * <li>that of the last complete handshake;
 * <li>those that have not failed since then, as the resolver orders them;
 * <li>those that have, the oldest failure first.
 * </ol>
 *
 * <p>An address that does not answer takes a share of the connect timeout only. So a family of IP addresses without a
 * route leaves time for the other.
 *
 * @threading event-loop-confined
 */
final class HostAddresses {

    /** Each takes time, and a name with more of them does not lead to one node. */
    static final int TRIED_MAX = 16;
    /** Longer than a round trip around the world. */
    static final long SHARE_NS_MIN = 250 * NS_PER_MS;

    private final NodeAddress node;
    private final long timeoutNs;
    /** That of the last complete handshake; null before the first. */
    private SocketAddress good;
    /** Those that have failed since the last complete handshake, the oldest failure first. */
    private final List<SocketAddress> failed = new ArrayList<>();
    /** Those of the last look-up. */
    private List<SocketAddress> found = List.of();
    private final Queue<SocketAddress> waiting = new ArrayDeque<>();
    /** Null if no address is in use. */
    private SocketAddress current;
    /** Whether the handshake with the current address was complete. */
    private boolean isConfirmed;
    private long endNs;
    private boolean areAllRejected;
    private String lastReason;
    private final List<String> failures = new ArrayList<>();

    /** The addresses of a node; the timeout is that of all of them together. */
    HostAddresses(NodeAddress node, long timeoutNs) {
        this.node = node;
        this.timeoutNs = timeoutNs;
    }

    /** A try starts with the addresses that a look-up has found, one or more. */
    void start(List<? extends SocketAddress> newFound, long nowNs) {
        found = newFound.stream().<SocketAddress>map(one -> one).distinct().limit(TRIED_MAX).toList();
        failed.retainAll(found);
        waiting.clear();
        found.stream().filter(one -> one.equals(good) && !failed.contains(one)).forEach(waiting::add);
        found.stream().filter(one -> !one.equals(good) && !failed.contains(one)).forEach(waiting::add);
        waiting.addAll(failed);
        current = null;
        endNs = nowNs + timeoutNs;
        areAllRejected = true;
        failures.clear();
    }

    /** The address in use; null if there is none. */
    SocketAddress current() {
        return current;
    }

    /** Turns to the next address of the try; null if there is none. */
    SocketAddress next() {
        current = waiting.poll();
        isConfirmed = false;
        return current;
    }

    /** Until when the current address may take to connect: the time left is shared with those that follow. */
    long deadlineNs(long nowNs) {
        long shareNs = (endNs - nowNs) / (waiting.size() + 1);
        return nowNs + Math.min(timeoutNs, Math.max(SHARE_NS_MIN, shareNs));
    }

    /**
     * The current address cannot be used.
     *
     * @param isRejected whether only a person can mend it
     */
    void onFailure(String reason, boolean isRejected) {
        areAllRejected &= isRejected;
        lastReason = reason;
        failures.add(shown(current) + ": " + reason.replace(": " + current, ""));
        onEnd();
    }

    /** The connection to the current address has ended. It has failed unless its handshake was complete. */
    void onEnd() {
        if (current != null && !isConfirmed) {
            failed.remove(current);
            failed.add(current);
        }
        current = null;
    }

    /** The handshake is complete. */
    void onHandshake() {
        good = current;
        isConfirmed = true;
        failed.clear();
    }

    /** Whether an address has not failed since the last complete handshake. */
    boolean hasUntried() {
        return !failed.containsAll(found);
    }

    // ---- texts ------------------------------------------------------------------------------------------------------

    /** Whether only a person can mend the failure of the try. */
    boolean areAllRejected() {
        return areAllRejected;
    }

    /** Why the try has failed: the reason of each address if there are several. */
    String failure() {
        return found.size() == 1
                ? lastReason
                : "none of " + all() + " can be used: " + String.join("; ", failures);
    }

    /** The addresses that failed before the current one; null if there are none. */
    String skipped() {
        return failures.isEmpty() ? null : String.join("; ", failures) + "; connected to " + oneOfAll();
    }

    /** Follows the text of a problem; empty if there is one address. */
    String place() {
        return found.size() < 2 || current == null ? "" : " (at " + oneOfAll() + ")";
    }

    /** Why the server at the current address may be another one than before; null if there is no sign of that. */
    String ambiguity() {
        return good == null || good.equals(current) || !found.contains(good)
                ? null
                : "the server at " + shown(current) + " is another process than the one at " + shown(good) + ", and "
                        + node.host() + " has both addresses: if they are two servers, clients that use different ones"
                        + " may hold a lock at the same time; give each node a name that leads to one server";
    }

    private String oneOfAll() {
        return shown(current) + ", one of " + all();
    }

    private String all() {
        return "the " + found.size() + " addresses of " + node.host();
    }

    private static String shown(SocketAddress address) {
        return address instanceof InetSocketAddress inet && !inet.isUnresolved()
                ? inet.getAddress().getHostAddress()
                : address.toString();
    }
}
