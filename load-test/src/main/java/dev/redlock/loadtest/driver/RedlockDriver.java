package dev.redlock.loadtest.driver;

import dev.redlock.AcquireOptions;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.RedlockCounters;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireCallback;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.CommandMode;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseCallback;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.api.RetentionEnd;
import dev.redlock.api.TlsProvider;
import dev.redlock.api.TransportKind;
import dev.redlock.cli.Counted;
import dev.redlock.cli.SentinelQuestion;
import dev.redlock.loadtest.result.LibraryVersion;
import dev.redlock.transport.NettyTransport;
import dev.redlock.transport.NodeAddress;
import dev.redlock.trial.nodes.NodeUris;
import java.io.IOException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;

/**
 * The locks of {@code redlock-core}.
 *
 * @param isEachReleaseAlone whether each release is a call of its own, as in a hand-written lock
 * @threading immutable
 */
public record RedlockDriver(ApiForm form, CommandMode commands, boolean isEachReleaseAlone, boolean isThrifty,
        TransportKind transport, TlsChoice tls) implements LockDriver {
    /** The most leases that a session holds and renews. */
    public static final int LEASES_MAX = 1 << 20;

    /** The counter of the acquires of retained locks, without the nodes. Those by outcome do not contain them. */
    public static final String LOCAL_GRANTS = "retained.localGrants";

    /** Long, so that a slow reply shows as latency and not as a failed acquire. */
    private static final Duration NODE_TIMEOUT = Duration.ofSeconds(2);
    private static final Duration READY_LIMIT = Duration.ofSeconds(10);
    /** More than the silence after a promotion with the default {@code maxTtl} and usual limits of the servers. */
    private static final Duration SILENCE_LIMIT = Duration.ofSeconds(120);
    private static final long POLL_MS = 5;

    /**
     * Whether and how the driver uses the TLS of nodes that have it.
     *
     * @threading immutable
     */
    enum TlsChoice {
        /** By the best provider. */
        BEST(TlsProvider.AUTO),
        /** Not at all, to compare. */
        PLAIN(null), TLS_JDK(TlsProvider.JDK), TLS_OPENSSL(TlsProvider.OPENSSL);

        private final TlsProvider provider;

        TlsChoice(TlsProvider provider) {
            this.provider = provider;
        }
    }

    RedlockDriver(ApiForm form, CommandMode commands, boolean isEachReleaseAlone, boolean isThrifty) {
        this(form, commands, isEachReleaseAlone, isThrifty, TransportKind.AUTO, TlsChoice.BEST);
    }

    RedlockDriver over(TransportKind kind) {
        return new RedlockDriver(form, commands, isEachReleaseAlone, isThrifty, kind, tls);
    }

    RedlockDriver with(TlsChoice choice) {
        return new RedlockDriver(form, commands, isEachReleaseAlone, isThrifty, transport, choice);
    }

    /** As in the names of drivers. */
    static String lower(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    @Override
    public String name() {
        return "redlock" + (form == ApiForm.CALLBACK ? "" : "-" + lower(form))
                + (commands == CommandMode.AUTO ? "" : "-" + lower(commands)) + (isEachReleaseAlone ? "-each" : "")
                + (isThrifty ? "-thrifty" : "") + (transport == TransportKind.AUTO ? "" : "@" + lower(transport))
                + (tls == TlsChoice.BEST ? "" : "@" + lower(tls));
    }

    @Override
    public String version() {
        return LibraryVersion.of("redlock", "dev.redlock", "redlock-core");
    }

    /** The default {@code maxTtl}, a second for the rounding of uptimes, and the drift. */
    @Override
    public Duration restartGuard() {
        return Duration.ofSeconds(62);
    }

    @Override
    public Optional<String> refusal(TransportKind asked, boolean hasUnixSockets, boolean asksThrifty, int nodeCount) {
        TransportKind kind = transport == TransportKind.AUTO ? asked : transport;
        String why = kind == TransportKind.AUTO ? null : NettyTransport.valueOf(kind.name()).refusal(hasUnixSockets);
        if (why != null) {
            return Optional.of("transport " + kind.name().toLowerCase(Locale.ROOT) + " cannot be used here: " + why
                    + "; use auto or another one");
        }
        return (isThrifty || asksThrifty) && nodeCount / 2 + 1 == nodeCount
                ? Optional.of("a thrifty quorum of " + Counted.of(nodeCount, "node")
                        + " is all of them: measure three or more")
                : Optional.empty();
    }

    /** All but those that the name says already. */
    @Override
    public Set<DriverOption> options() {
        EnumSet<DriverOption> options = EnumSet.allOf(DriverOption.class);
        if (transport != TransportKind.AUTO) {
            options.remove(DriverOption.TRANSPORT);
        }
        if (commands != CommandMode.AUTO) {
            options.remove(DriverOption.COMMANDS);
        }
        if (isThrifty) {
            options.remove(DriverOption.THRIFTY);
        }
        if (isRetaining()) {
            options.removeAll(
                    Set.of(DriverOption.COMMANDS, DriverOption.THRIFTY, DriverOption.FENCED, DriverOption.CLUSTERS));
        }
        return options;
    }

    @Override
    public boolean isRetaining() {
        return form == ApiForm.RETAINED;
    }

    /** A session of a client that exists already, and is closed with the session. */
    public static LockSession session(Redlock redlock, ApiForm form) {
        return new RedlockSession(redlock, form);
    }

    @Override
    public LockSession open(SessionSpec spec) throws IOException, InterruptedException {
        boolean isTls = spec.tls() != null && tls != TlsChoice.PLAIN;
        List<NodeAddress> nodes = isTls ? spec.tls().nodes() : spec.nodes();
        String[] addresses = spec.voters().isEmpty()
                ? nodes.stream().map(NodeUris::of).toArray(String[]::new)
                : spec.voters().toArray(String[]::new);
        RedlockContext context = new RedlockContext().nodes(addresses)
                .nodeTimeout(NODE_TIMEOUT)
                .autoExtendedLeasesMax(LEASES_MAX)
                .commands(commands == CommandMode.AUTO ? spec.commands() : commands)
                .transport(transport == TransportKind.AUTO ? spec.transport() : transport)
                .eventLoops(spec.eventLoops())
                .idlePolicy(spec.idlePolicy());
        if (isTls) {
            context.tls(spec.files().options().provider(tls.provider));
        }
        if (isThrifty || spec.isThrifty()) {
            context.thriftyQuorums(true);
        }
        if (isEachReleaseAlone) {
            context.releaseBatchMax(1);
        }
        if (spec.isFresh()) {
            context.restartGuard(RestartGuardMode.OFF);
        }
        if (SentinelQuestion.credentials() != null) {
            context.sentinelCredentials(sentinel -> SentinelQuestion.credentials());
        }
        spec.handoffs().ifPresent(context::localHandoffsMax);
        Redlock redlock = Redlock.connect(context);
        try {
            int quorum = redlock.nodes().size() / 2 + 1;
            awaitReady(redlock, quorum);
            if (!spec.isFresh()) {
                awaitVotes(redlock, quorum);
            }
        } catch (IOException | InterruptedException e) {
            redlock.close();
            throw e;
        }
        return new RedlockSession(redlock, form);
    }

    /**
     * Waits until enough nodes have connected, or fails. {@code connect} stops waiting after the connect timeout, which
     * may be too short on a busy machine. The wait skips nodes with a problem.
     */
    public static void awaitReady(Redlock redlock, int count) throws IOException, InterruptedException {
        List<NodeStatus> nodes = redlock.nodes();
        long deadlineNs = System.nanoTime() + READY_LIMIT.toNanos();
        while (readyCount(nodes) < count) {
            long hopeful = nodes.stream().filter(node -> isReady(node) || node.problem() == null).count();
            if (hopeful < count || deadlineNs - System.nanoTime() < 0) {
                throw new IOException("only " + readyCount(nodes) + " of " + nodes.size() + " nodes are ready: "
                        + nodes.stream().filter(node -> !isReady(node)).map(RedlockDriver::why).toList());
            }
            TimeUnit.MILLISECONDS.sleep(POLL_MS);
        }
    }

    /** Waits for nodes that are silent after a promotion. A client that ended before would start the silence again. */
    private static void awaitVotes(Redlock redlock, int count) throws IOException, InterruptedException {
        long startNs = System.nanoTime();
        while (redlock.nodes().stream().filter(node -> node.state() == NodeState.READY).count() < count) {
            if (System.nanoTime() - startNs > SILENCE_LIMIT.toNanos()) {
                throw new IOException("too few nodes vote after " + SILENCE_LIMIT.toSeconds() + " s: "
                        + redlock.nodes().stream().map(RedlockDriver::why).toList());
            }
            TimeUnit.MILLISECONDS.sleep(POLL_MS);
        }
    }

    private static String why(NodeStatus node) {
        return node.address() + ": " + (node.problem() == null ? "still " + node.state() : node.problem());
    }

    private static long readyCount(List<NodeStatus> nodes) {
        return nodes.stream().filter(RedlockDriver::isReady).count();
    }

    /** A node in quarantine replies too. */
    private static boolean isReady(NodeStatus node) {
        return node.state() == NodeState.READY || node.state() == NodeState.QUARANTINED;
    }

    /** @threading any thread */
    private static final class RedlockSession implements LockSession {
        private final Redlock redlock;
        private final ApiForm form;
        private final CallerThreads threads = new CallerThreads("lock");

        RedlockSession(Redlock redlock, ApiForm form) {
            this.redlock = redlock;
            this.form = form;
        }

        @Override
        public LockHandle handle(LockSpec spec, LockListener listener) {
            ResourceKey key = redlock.key(spec.resource());
            AcquireOptions plain = AcquireOptions.ofTtl(spec.ttl()).waitUpTo(spec.waitBudget());
            AcquireOptions options = spec.isFenced() ? plain.fenced() : plain;
            return switch (form) {
                case CALLBACK -> new Callback(key, options, spec.isValidityReported(), listener);
                case WATCHED -> new Callback(key, options.watchLoss(), spec.isValidityReported(), listener);
                case BLOCKING -> new Blocking(key, options, listener);
                case RETAINED -> new Blocking(key, options.retain(spec.ttl()), listener);
                case STAGE -> new Stage(key, options, listener);
            };
        }

        @Override
        public HeldLeases hold(String keyPrefix, Duration ttl, boolean isFenced, int count, long countedMs) {
            AcquireOptions plain = AcquireOptions.ofTtl(ttl).tryOnce();
            return new HeldLeases(redlock, isFenced ? plain.fenced() : plain, keyPrefix, count, countedMs);
        }

        @Override
        public Map<String, Long> counters() {
            Map<String, Long> counters = new LinkedHashMap<>();
            RedlockCounters own = redlock.counters();
            for (AcquireOutcome.Kind kind : AcquireOutcome.Kind.values()) {
                counters.put("outcome." + kind, own.outcomeCount(kind));
            }
            counters.put("attempt.contended", own.contendedAttemptCount());
            counters.put("attempt.noQuorum", own.noQuorumAttemptCount());
            counters.put("attempt.tooSlow", own.tooSlowAttemptCount());
            counters.put("rolledBack", own.rolledBackCount());
            for (ReleaseOutcome outcome : ReleaseOutcome.values()) {
                counters.put("release." + outcome, own.releaseCount(outcome));
            }
            counters.put("extended", own.extendedCount());
            counters.put("raised", own.raisedCount());
            counters.put("lost", own.lostCount());
            counters.put("expired", own.expiredCount());
            counters.put(LOCAL_GRANTS, own.localGrantCount());
            counters.put("retained.now", own.retainedCount());
            counters.put("retained.revoked", own.retentionEndCount(RetentionEnd.REVOKED));
            counters.put("nodes.granted", sum(NodeStatus::grantedCount));
            counters.put("nodes.refused", sum(NodeStatus::refusedCount));
            counters.put("nodes.errors", sum(NodeStatus::errorCount));
            counters.put("nodes.disconnects", sum(NodeStatus::disconnectCount));
            counters.put("nodes.clockJumps", sum(NodeStatus::clockJumpCount));
            counters.put("nodes.debt", sum(NodeStatus::undeliveredReleaseCount));
            counters.put("nodes.debtPaid", sum(NodeStatus::undeliveredReleaseDeliveredCount));
            counters.put("nodes.debtDropped", sum(NodeStatus::undeliveredReleaseDroppedCount));
            return counters;
        }

        private long sum(ToLongFunction<NodeStatus> counter) {
            return redlock.nodes().stream().mapToLong(counter).sum();
        }

        @Override
        public void close() {
            threads.close();
            redlock.close();
        }

        /** @threading caller-confined between a call and its outcome */
        private final class Callback implements LockHandle {
            private final ResourceKey key;
            private final AcquireOptions options;
            private final boolean isValidityReported;
            private final Lease lease;
            private final LockListener listener;
            // Method references are created once: one for each call would allocate.
            private final AcquireCallback onOutcome = this::onOutcome;
            private final ReleaseCallback onReleased = this::onReleased;

            Callback(ResourceKey key, AcquireOptions options, boolean isValidityReported, LockListener listener) {
                this.key = key;
                this.options = options;
                this.isValidityReported = isValidityReported;
                this.lease = redlock.newLease();
                this.listener = listener;
            }

            @Override
            public void acquire() {
                redlock.acquire(key, options, lease, onOutcome);
            }

            @Override
            public void release() {
                lease.release(onReleased);
            }

            private void onOutcome(AcquireOutcome outcome) {
                // Reads the clock.
                long validityNs = isValidityReported && outcome.isAcquired() ? lease.remainingValidityNs() : 0;
                listener.onAcquire(outcome.kind(), validityNs);
            }

            private void onReleased(Lease released, ReleaseOutcome outcome) {
                listener.onRelease(outcome);
            }
        }

        /**
         * A lease for each acquire, as in the short form.
         *
         * @threading caller-confined between a call and its outcome
         */
        private final class Blocking extends BlockingHandle {
            private final ResourceKey key;
            private final AcquireOptions options;
            private Lease lease;

            Blocking(ResourceKey key, AcquireOptions options, LockListener listener) {
                super(threads, listener);
                this.key = key;
                this.options = options;
            }

            @Override
            AcquireOutcome.Kind tryAcquire() throws InterruptedException {
                AcquireOutcome outcome = redlock.acquire(key, options);
                if (outcome.isAcquired()) {
                    lease = outcome.lease();
                    validFor(lease.remainingValidityNs());
                }
                return outcome.kind();
            }

            @Override
            ReleaseOutcome tryRelease() {
                return lease == null ? ReleaseOutcome.EXPIRED : lease.release();
            }
        }

        /**
         * A future and a lease for each acquire.
         *
         * @threading caller-confined between a call and its outcome
         */
        private final class Stage implements LockHandle {
            private final ResourceKey key;
            private final AcquireOptions options;
            private final LockListener listener;
            private Lease lease;

            Stage(ResourceKey key, AcquireOptions options, LockListener listener) {
                this.key = key;
                this.options = options;
                this.listener = listener;
            }

            @Override
            public void acquire() {
                redlock.acquireAsync(key, options).thenAccept(this::onOutcome);
            }

            @Override
            public void release() {
                if (lease == null) {
                    listener.onRelease(ReleaseOutcome.EXPIRED);
                    return;
                }
                lease.releaseAsync().thenAccept(listener::onRelease);
            }

            private void onOutcome(AcquireOutcome outcome) {
                if (outcome.isAcquired()) {
                    lease = outcome.lease();
                }
                listener.onAcquire(outcome.kind(), outcome.isAcquired() ? lease.remainingValidityNs() : 0);
            }
        }
    }
}
