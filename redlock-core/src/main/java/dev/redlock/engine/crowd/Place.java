package dev.redlock.engine.crowd;

import java.util.random.RandomGenerator;

/**
 * The place of this client in the queue of one lock at its coordinator, as far as it is known. Only replies and
 * messages of the coordinator change it. It decides nothing about the lock: it says how a waiter waits, and for how
 * long.
 *
 * @threading event-loop-confined
 */
public final class Place {

    /**
     * How a waiter waits.
     *
     * @threading immutable
     */
    public enum Role {
        /** The lock is its next: it is registered for the push of the release. */
        HEAD,
        /** It watches over the head. */
        DEPUTY,
        /** It waits for a message, and looks from time to time. */
        SLEEPER
    }

    private static final int NOWHERE = -1;
    private static final long NS_PER_MS = 1_000_000;
    /** A deputy that has just become one: the head needs some round trips to register. */
    private static final long DEPUTY_NS_MIN = 70 * NS_PER_MS;
    private static final long LOOK_NS_MIN = 250 * NS_PER_MS;
    /** Beside a free lock. A check drops a head that has not entered for 40 ms. */
    private static final long FREE_NS_MIN = 50 * NS_PER_MS;
    /**
     * How long a waiter without messages leaves a free lock to those that precede it. Shorter than those 40 ms: if the
     * head leaves, the next one asks before a check drops it.
     */
    private static final long LEFT_NS_MIN = 20 * NS_PER_MS;
    /** How long the head waits for the coordinator alone. */
    private static final long ALONE_NS_MIN = 25 * NS_PER_MS;
    /** How long after a push the deputy looks whether the head has the lock. */
    private static final long PUSHED_NS = 25 * NS_PER_MS;
    /** The longest time without an attempt: each one extends the life of the queue, which is 60 s. */
    private static final long ENTER_NS_MAX = 20_000 * NS_PER_MS;

    private int node = NOWHERE;
    private int rank;
    private long enteredNs;
    private long usedMask;
    private long missingMask;
    private boolean hasMessages;
    private boolean isCheckDue;
    private boolean hasFollowers;
    private boolean isGivingWay;
    private boolean hasGivenWay;
    private long gaveWayNs;

    /** Nothing is known of an entry. */
    public void reset() {
        node = NOWHERE;
        rank = 0;
        usedMask = 0;
        missingMask = 0;
        hasFollowers = false;
        hasGivenWay = false;
        isGivingWay = false;
    }

    /** The client has had its turn: its next waiter comes behind those who wait now, however long it has waited. */
    public void giveWay(long nowNs) {
        hasGivenWay = true;
        isGivingWay = true;
        gaveWayNs = nowNs;
    }

    /** Returns the time from which the wait of a waiter counts. */
    public long waitsSinceNs(long startNs) {
        return hasGivenWay && gaveWayNs - startNs > 0 ? gaveWayNs : startNs;
    }

    /**
     * A node has refused an attempt, and has the entry of this client now.
     *
     * @param isSubscribed whether the node sends messages to this client
     */
    public void onRefused(int atNode, int newRank, boolean isSubscribed, long nowNs) {
        node = atNode;
        rank = newRank;
        hasMessages = isSubscribed;
        isCheckDue = false;
        enteredNs = nowNs;
        usedMask = 1L << atNode;
        missingMask = 0;
        isGivingWay = false;
    }

    /** A node has the key of another client, as it has answered since the last refusal. */
    public void onUsed(int nodeIndex) {
        usedMask |= 1L << nodeIndex;
        missingMask &= ~(1L << nodeIndex);
    }

    /** Another node than the coordinator lacks the key, as it has answered since the last refusal. */
    public void onMissing(int nodeIndex) {
        missingMask |= 1L << nodeIndex;
        usedMask &= ~(1L << nodeIndex);
    }

    /** Whether another node than the coordinator lacks the key. */
    public boolean isMissing() {
        return missingMask != 0;
    }

    /**
     * Nodes on which the lock is in use, as far as is known.
     *
     * @param refusedMask those that have refused the last attempt, which may be long ago
     */
    public long usedMask(long refusedMask) {
        return usedMask | refusedMask & ~missingMask;
    }

    /** The waiter leaves the free lock to the clients that precede. If they do not take it, the next attempt checks. */
    public void leaveToOthers() {
        isCheckDue = true;
    }

    /** The lock has changed hands: those that precede get time again. */
    public void onPushed() {
        isCheckDue = false;
    }

    /**
     * The coordinator has granted, which has removed the entry.
     *
     * @param areOthersWaiting whether it has entries of other clients
     */
    public void onGranted(boolean areOthersWaiting) {
        node = NOWHERE;
        rank = 0;
        hasFollowers = areOthersWaiting;
    }

    /** The entry is gone, or no message can come: its node was flushed, or the connection to it has ended. */
    public void onLost() {
        node = NOWHERE;
        rank = 0;
    }

    /** A node has sent a message about the entry. */
    public void onMessage(int atNode, int newRank, long nowNs) {
        if (!isEntered()) {
            enteredNs = nowNs;
        }
        node = atNode;
        rank = newRank;
        hasMessages = true;
    }

    /** The node has reported the place of the entry. */
    public void onRank(int newRank) {
        rank = newRank;
    }

    /** Whether a node has an entry of this client. */
    public boolean isEntered() {
        return node >= 0;
    }

    public boolean isAt(int nodeIndex) {
        return node == nodeIndex;
    }

    /** The node with the entry; negative for none. */
    public int node() {
        return node;
    }

    /** The clients before this one; not known without an entry. */
    public int rank() {
        return rank;
    }

    /** Whether others were waiting at the last grant of the coordinator. */
    public boolean hasFollowers() {
        return hasFollowers;
    }

    public boolean isPreceded() {
        return isEntered() && rank > 0 && rank < QueueReply.RANK_UNKNOWN;
    }

    /** Whether a node has refused the client, and cannot keep an entry of it. */
    public boolean isUnknown() {
        return isEntered() && rank >= QueueReply.RANK_UNKNOWN;
    }

    /** Without a known place or messages, a waiter waits as the head does: for the push of the release. */
    public Role role() {
        if (!isPreceded() || !hasMessages) {
            return Role.HEAD;
        }
        return rank == 1 ? Role.DEPUTY : Role.SLEEPER;
    }

    /** The word for the next attempt: what it does beside a lock that is free and another client's. */
    public byte mode() {
        if (!isEntered() || isGivingWay) {
            return QueueReply.FIRST;
        }
        return isPreceded() && (hasMessages || isCheckDue) ? QueueReply.CHECK : QueueReply.ENTER;
    }

    // ---- times ------------------------------------------------------------------------------------------------------

    /** Returns how long a waiter that has a new place waits before it looks. */
    public long firstLookNs(RandomGenerator random) {
        return rank == 1 ? drawn(DEPUTY_NS_MIN, random) : nextLookNs(random);
    }

    /**
     * Returns how long a waiter that has found the lock in use waits before it looks again. It grows with the place, so
     * that the looks of a thousand sleepers are some 70 a second; but slowly, because the first one that lives looks
     * after all those before it hang.
     */
    public long nextLookNs(RandomGenerator random) {
        long looksNs = drawn(LOOK_NS_MIN, random);
        return rank == 1 ? looksNs : Math.min(ENTER_NS_MAX, looksNs + looksNs * rank / 4);
    }

    /** Returns how long the head is registered at the coordinator only: a short lease costs the others nothing. */
    public static long aloneNs(RandomGenerator random) {
        return drawn(ALONE_NS_MIN, random);
    }

    /** Returns how long a waiter that has found the lock free waits before it looks again. */
    public static long freeLookNs(RandomGenerator random) {
        return drawn(FREE_NS_MIN, random);
    }

    /** Returns how long a waiter without messages leaves a free lock to the clients that precede. */
    public static long leftNs(RandomGenerator random) {
        return drawn(LEFT_NS_MIN, random);
    }

    /** Returns how long a waiter leaves the lock to the head after a push, or after the end of the holder's ttl. */
    public static long pushedLookNs() {
        return PUSHED_NS;
    }

    /** Whether the next look has to be an attempt. */
    public boolean isEnterDue(long nowNs) {
        return nowNs - enteredNs >= ENTER_NS_MAX;
    }

    /** One to one and a half times as long, so that the looks of many clients spread out. */
    private static long drawn(long minNs, RandomGenerator random) {
        return minNs + (random.nextLong() >>> 1) % (minNs / 2);
    }
}
