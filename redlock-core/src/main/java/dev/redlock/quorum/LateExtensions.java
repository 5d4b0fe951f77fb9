package dev.redlock.quorum;

/**
 * Tracks the nodes that may still execute an extension of a lease whose reply will never come, because its connection
 * was replaced. Commands are ordered on one connection only, so the node may execute that extension after a later one.
 * If it replaces the key's expiry instead of only lengthening it, it shortens the key below the validity of the later
 * extension.
 *
 * <p>Rule: the reply of such a node counts only if its extension is not longer than the shortest late one.
 *
 * <p>Proof. A late extension by ttl L, executed at time x, lets the key expire at x + L. An extension by ttl M that was
 * sent at s and executed at e gives a validity of at most s + M.
 * <ul>
 * <li>If x is before e, the later extension has replaced the effect of the late one.
 * <li>Otherwise x + L &gt;= e + L &gt;= s + M if L &gt;= M.
 * <li>If L is less than M, the key may expire before the validity ends.
 * </ul>
 *
 * <p>There is one shortest ttl for all nodes of the mask, and a late extension before the last one counts as the
 * shortest that was sent. Both only make fewer replies count. Renewals with a constant ttl always count.
 *
 * @threading caller-confined
 */
public final class LateExtensions {

    private long nodes;
    private long shortestLateTtlMs;
    private long shortestSentTtlMs;
    private long lastSentTtlMs;

    /** No extension has been sent. */
    public LateExtensions() {
        reset();
    }

    /** Starts anew with another token. */
    public void reset() {
        nodes = 0;
        shortestLateTtlMs = Long.MAX_VALUE;
        shortestSentTtlMs = Long.MAX_VALUE;
        lastSentTtlMs = Long.MAX_VALUE;
    }

    /**
     * An extension is sent.
     *
     * @param ttlMs the ttl, milliseconds
     */
    public void onSent(long ttlMs) {
        lastSentTtlMs = ttlMs;
        shortestSentTtlMs = Math.min(shortestSentTtlMs, ttlMs);
    }

    /**
     * The connection of an extension was lost before the reply.
     *
     * @param nodeIndex which node
     * @param isLast    whether it is the last extension that was sent
     */
    public void onUnanswered(int nodeIndex, boolean isLast) {
        nodes |= 1L << nodeIndex;
        shortestLateTtlMs = Math.min(shortestLateTtlMs, isLast ? lastSentTtlMs : shortestSentTtlMs);
    }

    /**
     * Whether a node that has extended the key may shorten it again.
     *
     * @param nodeIndex which node
     * @param ttlMs     ttl of the extension with the reply, milliseconds
     * @return true if the reply does not prove that the key exists for that long
     */
    public boolean mayShorten(int nodeIndex, long ttlMs) {
        return (nodes & 1L << nodeIndex) != 0 && ttlMs > shortestLateTtlMs;
    }

    /** @return the nodes that may execute a late extension, as a mask */
    public long nodes() {
        return nodes;
    }

    /** @return the longest ttl of an extension that counts on each of these nodes, milliseconds */
    public long countedTtlMs() {
        return shortestLateTtlMs;
    }
}
