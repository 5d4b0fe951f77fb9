package dev.redlock;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.Lease;
import dev.redlock.api.RetryPolicy;
import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.key.KeyText;
import dev.redlock.quorum.Drift;
import dev.redlock.resp.SafeText;
import dev.redlock.time.Durations;
import java.time.Duration;
import java.util.Objects;

/**
 * The options of a {@link RedlockContext} for locks and their limits.
 *
 * @threading caller-confined
 */
abstract class LockSettings extends ConnectionSettings {

    String keyPrefix = "";
    boolean isNameInValues;
    long maxTtlMs = 60_000;
    long fenceCounterTtlMs = 86_400_000;
    long defaultWaitNs = 10_000 * NS_PER_MS;
    long nodeTimeoutNs = AcquireSpec.UNSET;
    long minValidityNs = AcquireSpec.UNSET;
    int resourceLengthMax = 512;
    int inFlightMax = 16_384;
    int waitersMax = 65_536;
    int autoExtendedLeasesMax = 65_536;
    int wakeUpKeysMax = 1 << 16;
    int localHandoffsMax = 3;
    int retainedLeasesMax = 16_384;
    Drift drift = Drift.DEFAULT;
    boolean isThrifty;
    /** Null if it is not set. */
    Boolean closeWaits;
    RetryPolicy retryPolicy = RetryPolicy.jittered(Duration.ofMillis(5), Duration.ofMillis(50));

    /**
     * Sets the prefix of every key on the nodes. None by default, so that clients that lock a majority of the same
     * nodes with the published pattern interoperate.
     *
     * @param prefix the prefix, may be empty; in UTF-8 it has to be shorter than {@link #resourceLengthMax
     *               resourceLengthMax}
     * @throws IllegalArgumentException if it starts or ends inside a character, or contains {@code :redlock:fence},
     *                                  which names fencing counters, {@code :redlock:permit}, which names permits, or
     *                                  {@code :redlock:reservation}, which names the reservations of waiting sets
     */
    public RedlockContext keyPrefix(String prefix) {
        checkOpen();
        Objects.requireNonNull(prefix, "key prefix is null: give \"\" for none");
        KeyText.checkEncodable("key prefix", prefix);
        checkPrefixMark(prefix, KeyText.COUNTER_MARK, "fencing counters");
        checkPrefixMark(prefix, KeyText.PERMIT_MARK, "permits");
        checkPrefixMark(prefix, KeyText.RESERVATION_MARK, "reservations");
        keyPrefix = prefix;
        return self();
    }

    /** @return the prefix of every key on the nodes; empty without one */
    public String keyPrefix() {
        return keyPrefix;
    }

    private static void checkPrefixMark(String prefix, String mark, String owners) {
        if (prefix.contains(mark)) {
            throw new IllegalArgumentException("key prefix \"" + SafeText.of(prefix) + "\" contains \"" + mark
                    + "\", which only names of " + owners + " may: choose another prefix");
        }
    }

    /**
     * Sets the length of the longest resource name.
     *
     * @param bytes default 512 bytes of UTF-8 with the prefix, 1 to 16 384
     */
    public RedlockContext resourceLengthMax(int bytes) {
        return with(() -> resourceLengthMax = (int) inRange("resourceLengthMax", bytes, 1, 16_384, "bytes"));
    }

    /**
     * Appends the client name to the value of each lock, so that {@code GET} and {@code redlock.jar locks} show who
     * holds it. The value is the token, an at sign and the name. It is as unguessable and unique as without the name,
     * and clients with and without names exclude each other. It costs up to 65 bytes for each key and command.
     *
     * @param isWanted default false; true needs a {@link #clientName clientName} of 1 to 64 characters that is not the
     *                 default
     */
    public RedlockContext nameInValues(boolean isWanted) {
        return with(() -> isNameInValues = isWanted);
    }

    /**
     * Sets the longest ttl that an acquire or extend may ask for; longer ones are rejected. A node also stays in
     * quarantine for so long after a restart or a jump of its clock, so keep it near the ttls in use. All clients of
     * the same nodes need the same value for the restart guard to cover their locks.
     *
     * @param ttl default 60 s, from 100 ms to 24 h
     */
    public RedlockContext maxTtl(Duration ttl) {
        return with(() -> maxTtlMs = inRange("maxTtl", Durations.millisOf("maxTtl", ttl), 100, 86_400_000, "ms"));
    }

    /**
     * Sets the time that the counter of a resource's fencing tokens stays on a node after the last fenced grant, raise
     * or release. A longer time keeps memory for resources that are no longer used. A counter that expired starts again
     * from the node's clock (seconds * 2^20). That is above every earlier value, unless the clock was set back or the
     * resource was granted more than 2^20 times per second over its life. The counter has to outlive every lease by
     * far, or the nodes of one lease could disagree.
     *
     * @param ttl default 24 h, from ten times {@link #maxTtl maxTtl} to 10 years
     */
    public RedlockContext fenceCounterTtl(Duration ttl) {
        return with(() -> fenceCounterTtlMs = inRange("fenceCounterTtl", Durations.millisOf("fenceCounterTtl", ttl),
                1000, 315_360_000_000L, "ms"));
    }

    /**
     * Sets the wait budget of {@link Redlock#acquire} and {@link Redlock#acquireAsync Redlock.acquireAsync} where the
     * options have none.
     *
     * @param wait default 10 s, zero or more
     */
    public RedlockContext defaultWait(Duration wait) {
        return with(() -> defaultWaitNs = Durations.nanosOf("default wait", wait));
    }

    /**
     * Sets the time that a node may take for one answer before its vote counts as unknown. A shorter time gives up on
     * slow nodes sooner, a longer one survives their hiccups. A healthy quorum never waits for it.
     *
     * @param timeout default: the shorter of 50 ms and ttl/20; from 1 ms to 60 s
     */
    public RedlockContext nodeTimeout(Duration timeout) {
        return with(() -> nodeTimeoutNs = NS_PER_MS
                * inRange("nodeTimeout", Durations.millisOf("nodeTimeout", timeout), 1, 60_000, "ms"));
    }

    /**
     * Requires some validity to be left when a lock is acquired; an acquisition with less is rolled back.
     *
     * @param minValidity default: a tenth of each acquisition's ttl
     */
    public RedlockContext minValidity(Duration minValidity) {
        return with(() -> minValidityNs = Durations.nanosOf("minimum validity", minValidity));
    }

    /**
     * Sets how far clocks may run apart. The validity of a lease is its ttl less the duration of the acquisition and
     * less the clock allowance: rate * (ttl + 2 * ({@link #clockSampleInterval clockSampleInterval} + 100 ms)) +
     * constant, or rate * ttl + constant with the clock watch off. The quarantine of a restarted node is maxTtl * rate
     * + constant longer. A node whose clock moves by more than rate * time + constant / 2 between two samples is put
     * into quarantine.
     *
     * <p>Change it only for clocks that are known to be better or worse than the default: with too small a drift, a
     * node with a fast clock grants a held lock to another client. Where round trips take longer than 1 ms, steps of
     * clocks can hide in them: raise the constant by four times the excess.
     *
     * @param ratePpm  parts per million, default 10 000 (one percent), 0 to 500 000
     * @param constant for the precision of expiry, default 2 ms, 0 to 60 s
     */
    public RedlockContext drift(int ratePpm, Duration constant) {
        checkOpen();
        long constantNs = Durations.nanosOf("drift constant", constant);
        drift = new Drift(ratePpm, inRange("drift constant", constantNs, 0, 60_000 * NS_PER_MS, "ns"));
        return self();
    }

    /**
     * Sets the delays between the attempts of an acquisition.
     *
     * @param policy default: 5 to 50 ms, evenly distributed
     */
    public RedlockContext retryPolicy(RetryPolicy policy) {
        return with(() -> retryPolicy = Objects.requireNonNull(policy, "retry policy is null"));
    }

    /**
     * Makes an attempt ask a quorum of nodes first, and the others only if one of these fails, is late, or disagrees.
     * With five nodes a lock takes six commands instead of ten, so the servers need less CPU. The latency is that of
     * the slowest node of the quorum instead of the fastest quorum. All nodes are used in turn. Clients with and
     * without it exclude each other.
     *
     * @param isWanted default false; true needs three nodes or more
     */
    public RedlockContext thriftyQuorums(boolean isWanted) {
        return with(() -> isThrifty = isWanted);
    }

    /**
     * Makes {@link Lease#close Lease.close} wait until the nodes have replied to the release, as {@link Lease#release()
     * Lease.release} does. For callers who tell another process after the close that the lock is free. Without it, the
     * close sends the release and returns. It applies to all that close a lease: the end of a try block, {@code
     * unlock()}, the permits of a semaphore, {@code run}, {@code call} and their like.
     *
     * @param isWanted default false
     */
    public RedlockContext closeWaits(boolean isWanted) {
        return with(() -> closeWaits = isWanted);
    }

    /**
     * Limits the acquisitions that talk to the nodes at the same time, per event loop. At the limit an acquisition
     * without a wait budget ends as {@link AcquireOutcome.Kind#OVERLOADED}. One with a budget waits for a place, first
     * come, first served, and counts as a waiter ({@link #waitersMax waitersMax}) meanwhile.
     *
     * @param count default 16 384, at least 1
     */
    public RedlockContext inFlightMax(int count) {
        return with(() -> inFlightMax = (int) inRange("inFlightMax", count, 1, 1 << 22, "acquisitions"));
    }

    /**
     * Limits the acquisitions that wait behind another one of this client or for a place of {@link #inFlightMax
     * inFlightMax}, per event loop. A new one beyond the limit ends as {@link AcquireOutcome.Kind#OVERLOADED}.
     *
     * @param count default 65 536, at least 0
     */
    public RedlockContext waitersMax(int count) {
        return with(() -> waitersMax = (int) inRange("waitersMax", count, 0, 1 << 22, "waiters"));
    }

    /**
     * Limits the handoffs of a lock among the waiters of this client before other clients get a chance. After so many
     * handoffs, the next attempt yields to a client that waits; if no node wakes waiters, the next waiter pauses for
     * one delay of its retry policy. A smaller limit is fairer where a lock is held for long.
     *
     * @param count default 3; 0 sets no limit, so that local waiters always come first
     */
    public RedlockContext localHandoffsMax(int count) {
        return with(() -> localHandoffsMax = (int) inRange("localHandoffsMax", count, 0, 1 << 22,
                "handoffs (0 for no bound)"));
    }

    /**
     * Limits the resources whose waiters the nodes wake, per event loop. A node sends a push to the clients that are
     * registered for a lock when it is released: of a plain lock, the first two that wait. Waiters of further resources
     * retry after the delays of their retry policy alone.
     *
     * @param count default 65 536; 0 turns wake-ups off
     */
    public RedlockContext wakeUpKeysMax(int count) {
        return with(() -> wakeUpKeysMax = (int) inRange("wakeUpKeysMax", count, 0, 1 << 22,
                "resources (0 for no wake-ups)"));
    }

    /**
     * Limits the locks that the client retains ({@link AcquireOptions#retain}), per event loop. A further one ends the
     * oldest. A client with any retained locks allowed also shows others that it was refused, by one command to each
     * node after a refusal without a place in the queue: else a client that retains the lock would keep it until its
     * time is over.
     *
     * @param count default 16 384; 0 for none
     */
    public RedlockContext retainedLeasesMax(int count) {
        return with(() -> retainedLeasesMax = (int) inRange("retainedLeasesMax", count, 0, 1 << 22,
                "leases (0 for none)"));
    }

    /** A refused plain {@code SET} does not register for a push. */
    final int wakeUpKeysMax() {
        return commandMode == CommandMode.NATIVE ? 0 : wakeUpKeysMax;
    }

    /**
     * Limits the leases with automatic extension or {@link AcquireOptions#holdAtLeast}, held, kept or being acquired,
     * per event loop. More end as {@link AcquireOutcome.Kind#OVERLOADED}.
     *
     * @param count default 65 536, at least 0
     */
    public RedlockContext autoExtendedLeasesMax(int count) {
        return with(() -> autoExtendedLeasesMax = (int) inRange("autoExtendedLeasesMax", count, 0, 1 << 22, "leases"));
    }
}
