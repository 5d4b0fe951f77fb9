package dev.redlock;

import dev.redlock.api.CheckReturnValue;
import dev.redlock.api.LeaseListener;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RetryPolicy;
import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.key.PermitKey;
import dev.redlock.node.send.LockKind;
import dev.redlock.resp.SafeText;
import dev.redlock.time.Durations;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * The options of an acquisition. Each method returns a changed copy, so build the options once and keep them. It throws
 * {@link IllegalArgumentException} for a number out of range or a negative duration.
 *
 * <pre>{@code
 * AcquireOptions options = AcquireOptions.ofTtl(Duration.ofSeconds(10)).waitUpTo(Duration.ofMillis(200));
 * }</pre>
 *
 * @threading immutable
 */
@CheckReturnValue
public final class AcquireOptions {

    private static final Duration NO_LIMIT = Duration.ofSeconds(Long.MAX_VALUE / 1_000_000_000);
    private static final int GROUP_LENGTH_MAX = 64;

    final AcquireSpec spec;

    private AcquireOptions(AcquireSpec spec) {
        this.spec = spec;
    }

    /**
     * Options with a time to live and every other option at its default.
     *
     * @param ttl time to live of the lock on the nodes, in whole milliseconds. A longer ttl survives slow nodes and
     *            slow work; a shorter one frees the lock of a dead holder sooner. The shortest is 27 ms with the
     *            default drift and clock watch, the longest is the client's {@link RedlockContext#maxTtl
     *            RedlockContext.maxTtl}.
     * @throws IllegalArgumentException if the ttl is below a millisecond
     */
    public static AcquireOptions ofTtl(Duration ttl) {
        return new AcquireOptions(new AcquireSpec(Durations.millisOf("ttl", ttl)));
    }

    /**
     * Waits for the lock up to a budget.
     *
     * @param wait wait budget from the call on, honoured to within one node timeout; zero for one attempt. Default:
     *             {@link RedlockContext#defaultWait RedlockContext.defaultWait}, or one attempt with {@code tryAcquire}
     */
    public AcquireOptions waitUpTo(Duration wait) {
        return with(changed -> changed.waitNs = Durations.nanosOf("wait", wait));
    }

    /** Makes one attempt and does not wait: a wait budget of zero. */
    public AcquireOptions tryOnce() {
        return waitUpTo(Duration.ZERO);
    }

    /**
     * Requires some validity to be left when the lock is acquired; an acquisition with less is rolled back.
     *
     * @param minValidity default: a tenth of the ttl
     */
    public AcquireOptions minValidity(Duration minValidity) {
        return with(changed -> changed.minValidityNs = Durations.nanosOf("minimum validity", minValidity));
    }

    /**
     * Sets the delays between attempts.
     *
     * @param policy default: the client's
     */
    public AcquireOptions retryPolicy(RetryPolicy policy) {
        Objects.requireNonNull(policy, "retry policy is null");
        return with(changed -> changed.retryPolicy = policy);
    }

    /**
     * Reports the loss and the automatic extensions of the lease.
     *
     * @param leaseListener called by {@link RedlockContext#callbackExecutor}
     */
    public AcquireOptions listener(LeaseListener leaseListener) {
        Objects.requireNonNull(leaseListener, "lease listener is null");
        return with(changed -> changed.listener = leaseListener);
    }

    /**
     * Extends the lease automatically, each time a third of the ttl has passed, until it is released or the process
     * dies. A client with many leases extends some of them earlier, so that not all are due together. The event loop
     * extends it, so a holder whose thread hangs keeps the lock; {@link #autoExtend(Duration)} sets a limit.
     */
    public AcquireOptions autoExtend() {
        return autoExtend(NO_LIMIT);
    }

    /**
     * Extends the lease automatically, each time a third of the ttl has passed and a last time just before the limit.
     * The lease expires at most one ttl after the limit.
     *
     * @param holdMax time from the acquisition after which no extension starts
     */
    public AcquireOptions autoExtend(Duration holdMax) {
        return autoExtend(Integer.MAX_VALUE, holdMax);
    }

    /**
     * Extends the lease automatically, each time a third of the ttl has passed, a limited number of times and for a
     * limited time.
     *
     * @param countMax extensions at most, at least 1
     * @param holdMax  time from the acquisition after which no extension starts
     */
    public AcquireOptions autoExtend(int countMax, Duration holdMax) {
        if (countMax < 1) {
            throw new IllegalArgumentException(
                    "extension limit " + countMax + " is out of range: at least 1 is needed");
        }
        return with(changed -> {
            changed.extensionCountMax = countMax;
            changed.holdNsMax = Durations.nanosOf("longest hold", holdMax);
        });
    }

    /**
     * Gives the lease a fencing token: a number that grows with every grant of the resource, which the protected
     * resource checks. An acquisition takes one round trip like a plain one while the nodes' counters agree, at most
     * one more otherwise, and honours its wait budget to within two node timeouts. The numbers order all grants only if
     * all grants of the resource are fenced.
     */
    public AcquireOptions fenced() {
        return with(changed -> changed.isFenced = true);
    }

    /**
     * Asks the nodes to report when a key of the lease is deleted, evicted or replaced. If fewer than a quorum of nodes
     * then hold the key, the lease is {@link LeaseState#LOST} after about two round trips; without this option, at its
     * next extension. Each node reads the key once more after the acquire and after each extension. The option has no
     * effect on nodes that do not push ({@link NodeStatus#wakeUpProblem}).
     */
    public AcquireOptions watchLoss() {
        return with(changed -> changed.isLossWatched = true);
    }

    /**
     * Locks the resource for reading: together with other readers, without a writer. A reader needs a majority of nodes
     * as a writer does. While a writer waits, no new reader gets the lock.
     *
     * <p>A plain lock of the resource excludes its readers and writers, and they exclude it. Readers have no fencing
     * token, and {@link #watchLoss} does not apply to them.
     */
    public AcquireOptions forReading() {
        return ofKind(LockKind.READ, 0);
    }

    /**
     * Locks the resource for writing: alone, without readers. With a wait budget, new readers are refused while it
     * waits for the present ones.
     */
    public AcquireOptions forWriting() {
        return ofKind(LockKind.WRITE, 0);
    }

    /**
     * Takes one permit of a semaphore, which has a number of them: so many holders have a permit at the same time, and
     * no more. A permit is a lease like any other.
     *
     * <p>Each client gives the number. If two clients give different numbers, all of them together have at most the
     * greater number of permits, and clients with the smaller number use no more than that. So the number can change
     * while clients run. A semaphore and a plain lock of one name do not exclude each other. Permits have no fencing
     * token.
     *
     * @param permitCount permits of the semaphore, 1 to 256: a search for a free permit looks at all of them with one
     *                    command, which a node runs alone
     */
    public AcquireOptions forPermitOf(int permitCount) {
        if (permitCount < 1 || permitCount > PermitKey.PERMITS_MAX) {
            throw new IllegalArgumentException("permit count " + permitCount + " is out of range: a semaphore has 1 to "
                    + PermitKey.PERMITS_MAX + " permits");
        }
        return ofKind(LockKind.PERMIT, permitCount);
    }

    /**
     * Keeps the lock for a time after its acquisition, although the lease is released earlier. For jobs that several
     * instances schedule for the same moment: with a time longer than the difference between their clocks, one of them
     * runs the job.
     *
     * <p>A release before that time returns {@link ReleaseOutcome#KEPT} and ends the lease for its holder. The client
     * then shortens or extends the keys to that time, and releases the lock when it has passed. Before that it sends no
     * release, also if the lease is lost or expires. If the client is closed before, the lock stays for the shorter of
     * this time and the ttl, counted from the acquisition or the last extension. If the process dies before the
     * release, it stays for the ttl. A cancelled acquisition is released at once.
     *
     * <p>The lock counts for {@link RedlockContext#autoExtendedLeasesMax RedlockContext.autoExtendedLeasesMax} until
     * the client has released it.
     *
     * @param holdMin time from the acquisition, usually less than the interval of the job; zero for none
     */
    public AcquireOptions holdAtLeast(Duration holdMin) {
        return with(changed -> changed.holdNsMin = Durations.nanosOf("shortest hold", holdMin));
    }

    /**
     * Retains the lock after its release: the next acquisition of the resource by this client, with the same ttl and
     * retention, gets it without the nodes; a blocking one on its own thread. For resources that mostly one process
     * locks, again and again.
     *
     * <p><b>If the process dies while it retains a lock, others wait until the ttl has passed,</b> though nobody held
     * it.
     *
     * <p>A release that retains the lock returns {@link ReleaseOutcome#RETAINED}. The client releases the lock when
     * another client asks for it, when a node is lost, after the given time, and when a third of the ttl has passed.
     *
     * <p>Only for plain locks of one resource without {@link #fenced}, {@link #holdAtLeast} and {@link #autoExtend}, in
     * clients without thrifty quorums and clusters.
     *
     * @param max time from the first release for which the client may retain the lock, at most the ttl; zero for none
     */
    public AcquireOptions retain(Duration max) {
        long maxNs = Durations.nanosOf("retention", max);
        if (maxNs / 1_000_000 > spec.ttlMs) {
            throw new IllegalArgumentException("retention " + maxNs / 1_000_000 + " ms is longer than the ttl "
                    + spec.ttlMs + " ms: no lock outlives its ttl");
        }
        return with(changed -> changed.retainNsMax = maxNs);
    }

    /**
     * Names what the lock is for, such as {@code orders}: the client counts and times the acquisitions of each group
     * apart, {@link Redlock#groups Redlock.groups}. Take the names from a small set, because they become tags of
     * meters: never one with an id. A client counts the first 64 groups apart, and all further ones as {@code other}.
     *
     * <p>The group is no part of the lock: acquisitions of different groups exclude each other.
     *
     * @param name at most 64 characters of printable ASCII without blanks; null for none, as by default
     * @throws IllegalArgumentException if it is blank or longer, or has other characters
     */
    public AcquireOptions group(String name) {
        if (name != null) {
            checkGroup(name);
        }
        return with(changed -> changed.setGroup(name));
    }

    private static void checkGroup(String name) {
        if (name.isBlank()) {
            throw new IllegalArgumentException(
                    "group \"" + SafeText.of(name) + "\" is blank: name what the lock is for,"
                            + " such as \"orders\", or give null for none");
        }
        if (name.length() > GROUP_LENGTH_MAX) {
            throw new IllegalArgumentException("group \"" + SafeText.of(name) + "\" has " + name.length()
                    + " characters and at most " + GROUP_LENGTH_MAX
                    + " are allowed, because it is a tag of meters: use a shorter name");
        }
        if (!name.chars().allMatch(c -> c > ' ' && c < 127)) {
            throw new IllegalArgumentException("group \"" + SafeText.of(name) + "\" has a blank or a special character,"
                    + " which tags of meters do not have: use printable ASCII without blanks");
        }
    }

    /** @return what the lock is for; null without a group */
    public String group() {
        return spec.group;
    }

    static AcquireSpec specOf(AcquireOptions options) {
        return Objects.requireNonNull(options, "options are null").spec;
    }

    private AcquireOptions with(Consumer<AcquireSpec> change) {
        AcquireSpec changed = spec.copy();
        change.accept(changed);
        return new AcquireOptions(changed);
    }

    private AcquireOptions ofKind(LockKind kind, int permitCount) {
        return with(changed -> {
            changed.kind = kind;
            changed.permitCount = permitCount;
        });
    }

    /** Options of a reader, without those that only writers have. */
    AcquireOptions forReader() {
        return with(changed -> {
            changed.kind = LockKind.READ;
            changed.isFenced = false;
            changed.isLossWatched = false;
        });
    }

    @Override
    public String toString() {
        return "AcquireOptions{" + spec + "}";
    }
}
