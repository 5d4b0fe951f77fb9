package dev.redlock.quorum;

/**
 * Remembers at which nodes an extension of a lease may still be executed although its answer will never come, because
 * the connection was replaced. Commands are ordered on one connection only, so such an extension may be executed after
 * a later one. Where it replaces the key's expiry instead of only lengthening it, it shortens the key under the
 * validity that the later one gave.
 *
 * <p>The rule: an answer of such a node counts only if the extension that it answers is not longer than the shortest
 * that may be late there. Why that is enough: a late extension by ttl L that is executed at a time x lets the key
 * expire at x + L. An extension by ttl M that was sent at s and is executed at e gives a validity of at most s + M. If
 * x is before e, the later one has replaced what the late one did. Otherwise x + L &gt;= e + L &gt;= s + M where L
 * &gt;= M. Where L is less than M, the key may expire before the validity ends.
 *
 * <p>One shortest ttl is kept for all nodes of the mask, and a late extension that is not the last one sent is taken
 * for the shortest that was sent: both only make fewer answers count. Renewals by one and the same ttl always count.
 *
 * @threading caller-confined
 */
public final class LateExtensions {

    private long nodes;
    private long shortestLateTtlMs;
    private long shortestSentTtlMs;
    private long lastSentTtlMs;

    /** No extension was sent, none is late. */
    public LateExtensions() {
        reset();
    }

    /** Forgets every extension: from here on the token is another one. */
    public void reset() {
        nodes = 0;
        shortestLateTtlMs = Long.MAX_VALUE;
        shortestSentTtlMs = Long.MAX_VALUE;
        lastSentTtlMs = Long.MAX_VALUE;
    }

    /**
     * An extension is sent.
     *
     * @param ttlMs its ttl, milliseconds
     */
    public void onSent(final long ttlMs) {
        lastSentTtlMs = ttlMs;
        shortestSentTtlMs = Math.min(shortestSentTtlMs, ttlMs);
    }

    /**
     * The connection on which an extension was sent is gone, without an answer to it.
     *
     * @param nodeIndex which node
     * @param isLast    it is the one that was sent last, not one before
     */
    public void onUnanswered(final int nodeIndex, final boolean isLast) {
        nodes |= 1L << nodeIndex;
        shortestLateTtlMs = Math.min(shortestLateTtlMs, isLast ? lastSentTtlMs : shortestSentTtlMs);
    }

    /**
     * Whether a node that has renewed the key may shorten it again.
     *
     * @param nodeIndex which node
     * @param ttlMs     ttl of the extension that it has answered, milliseconds
     * @return true if the answer is no proof that the key stands for that long
     */
    public boolean mayShorten(final int nodeIndex, final long ttlMs) {
        return (nodes & 1L << nodeIndex) != 0 && ttlMs > shortestLateTtlMs;
    }
}
