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
import dev.redlock.api.TlsProvider;
import dev.redlock.api.TransportKind;
import dev.redlock.cli.Counted;
import dev.redlock.loadtest.nodes.NodeUris;
import dev.redlock.transport.NettyTransport;
import dev.redlock.transport.NodeAddress;
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
 * @threading any thread
 */
public final class RedlockDriver implements LockDriver {
    /** Long, so that a slow reply shows as latency and not as a failed acquire. */
    private static final Duration NODE_TIMEOUT = Duration.ofSeconds(2);

    /** The most leases that a session holds and renews. */
    public static final int LEASES_MAX = 1 << 20;

    private static final Duration READY_LIMIT = Duration.ofSeconds(10);
    private static final long POLL_MS = 5;

    private final ApiForm form;
    private final TransportKind transport;
    private final CommandMode commands;
    private final boolean isEachReleaseAlone;
    private final boolean isThrifty;
    private final TlsChoice tls;

    /**
     * Whether and how the driver uses the TLS of nodes that have it.
     *
     * @threading immutable
     */
    enum TlsChoice {
        /** By the best provider. */
        BEST(TlsProvider.AUTO),
        /** Not at all, to compare. */
        PLAIN(null),
        /** By the JDK. */
        TLS_JDK(TlsProvider.JDK),
        /** By netty-tcnative. */
        TLS_OPENSSL(TlsProvider.OPENSSL);

        private final TlsProvider provider;

        TlsChoice(TlsProvider provider) {
            this.provider = provider;
        }

        String suffix() {
            return name().toLowerCase(Locale.ROOT).replace('_', '-');
        }
    }

    /** The callback form over the best transport. */
    public RedlockDriver() {
        this(ApiForm.CALLBACK, TransportKind.AUTO);
    }

    /** A driver of one form of the API. */
    public RedlockDriver(ApiForm form, TransportKind transport) {
        this(form, transport, CommandMode.AUTO, false, false, TlsChoice.BEST);
    }

    private RedlockDriver(ApiForm form, TransportKind transport, CommandMode commands, boolean isEachReleaseAlone,
            boolean isThrifty, TlsChoice tls) {
        this.form = form;
        this.transport = transport;
        this.commands = commands;
        this.isEachReleaseAlone = isEachReleaseAlone;
        this.isThrifty = isThrifty;
        this.tls = tls;
    }

    /**
     * The callback form by scripts alone, to show the saving of native commands.
     *
     * @return the driver {@code redlock-scripts}
     */
    public static RedlockDriver withScripts() {
        return new RedlockDriver(ApiForm.CALLBACK, TransportKind.AUTO, CommandMode.SCRIPTS, false, false,
                TlsChoice.BEST);
    }

    /**
     * The callback form by scripts alone and a call for each release, which are the commands of a hand-written lock.
     *
     * @return the driver {@code redlock-scripts-each}
     */
    public static RedlockDriver withScriptsEach() {
        return new RedlockDriver(ApiForm.CALLBACK, TransportKind.AUTO, CommandMode.SCRIPTS, true, false,
                TlsChoice.BEST);
    }

    /**
     * The callback form with thrifty quorums, to show their saving.
     *
     * @return the driver {@code redlock-thrifty}
     */
    public static RedlockDriver withThriftyQuorums() {
        return new RedlockDriver(ApiForm.CALLBACK, TransportKind.AUTO, CommandMode.AUTO, false, true, TlsChoice.BEST);
    }

    /**
     * The same over another transport.
     *
     * @return a driver with the transport in its name
     */
    public RedlockDriver over(TransportKind kind) {
        return new RedlockDriver(form, kind, commands, isEachReleaseAlone, isThrifty, tls);
    }

    /** The same with another choice of TLS. */
    RedlockDriver with(TlsChoice choice) {
        return new RedlockDriver(form, transport, commands, isEachReleaseAlone, isThrifty, choice);
    }

    @Override
    public String name() {
        String kind = transport.name().toLowerCase(Locale.ROOT).replace('_', '-');
        String mode = commands == CommandMode.AUTO ? "" : "-" + commands.name().toLowerCase(Locale.ROOT);
        String releases = isEachReleaseAlone ? "-each" : "";
        return form.driverName() + mode + releases + (isThrifty ? "-thrifty" : "")
                + (transport == TransportKind.AUTO ? "" : "@" + kind)
                + (tls == TlsChoice.BEST ? "" : "@" + tls.suffix());
    }

    @Override
    public String version() {
        return LibraryVersion.of("redlock", "dev.redlock", "redlock-core");
    }

    @Override
    public String summary() {
        return "this project's quorum lock, " + form.summary()
                + (commands == CommandMode.SCRIPTS ? ", by scripts alone" : "")
                + (isEachReleaseAlone ? ", a call for each release" : "")
                + (isThrifty ? ", asking a quorum first" : "");
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

    @Override
    public Set<DriverOption> options() {
        EnumSet<DriverOption> options = EnumSet.allOf(DriverOption.class);
        if (transport != TransportKind.AUTO) {
            // The name says it already.
            options.remove(DriverOption.TRANSPORT);
        }
        if (commands != CommandMode.AUTO) {
            options.remove(DriverOption.COMMANDS);
        }
        if (isThrifty) {
            options.remove(DriverOption.THRIFTY);
        }
        return options;
    }

    /**
     * A session of a client that exists already.
     *
     * @param redlock the client; closed with the session
     */
    public static LockSession session(Redlock redlock, ApiForm form) {
        return new RedlockSession(redlock, form);
    }

    @Override
    public LockSession open(SessionSpec spec) throws IOException, InterruptedException {
        boolean isTls = spec.tls() != null && tls != TlsChoice.PLAIN;
        List<NodeAddress> nodes = isTls ? spec.tls().nodes() : spec.nodes();
        String[] addresses = spec.clusters().isEmpty()
                ? nodes.stream().map(NodeUris::of).toArray(String[]::new)
                : spec.clusters().toArray(String[]::new);
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
        spec.handoffs().ifPresent(context::localHandoffsMax);
        Redlock redlock = Redlock.connect(context);
        try {
            awaitReady(redlock, redlock.nodes().size() / 2 + 1);
        } catch (IOException | InterruptedException e) {
            redlock.close();
            throw e;
        }
        return new RedlockSession(redlock, form);
    }

    /**
     * Waits until enough nodes have connected. {@code connect} stops waiting after the connect timeout, which may be
     * too short on a busy machine. The wait skips nodes with a problem.
     *
     * @param count   the number of nodes that have to be ready
     * @throws IOException          if they are not
     * @throws InterruptedException if interrupted
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

    /**
     * One client of {@code redlock-core}.
     *
     * @threading any thread
     */
    private static final class RedlockSession implements LockSession {
        private final Redlock redlock;
        private final ApiForm form;
        private final CallerThreads threads = new CallerThreads("lock");

        RedlockSession(Redlock redlock, ApiForm form) {
            this.redlock = redlock;
            this.form = form;
        }

        @Override
        public LockHandle handle(String resource, Duration ttl, LockListener listener) {
            return handle(LockSpec.of(resource, ttl), listener);
        }

        @Override
        public LockHandle handle(LockSpec spec, LockListener listener) {
            return switch (form) {
                case CALLBACK -> new RedlockHandles.Callback(redlock, spec, false, listener);
                case WATCHED -> new RedlockHandles.Callback(redlock, spec, true, listener);
                case BLOCKING -> new RedlockHandles.Blocking(threads, redlock, spec, listener);
                case STAGE -> new RedlockHandles.Stage(redlock, spec, listener);
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

        /**
         * A handle for each form of the API of {@code redlock-core}.
         *
         * @threading caller-confined between a call and its outcome
         */
        private static final class RedlockHandles {
            private static AcquireOptions optionsOf(LockSpec spec) {
                AcquireOptions plain = AcquireOptions.ofTtl(spec.ttl()).waitUpTo(spec.waitBudget());
                return spec.isFenced() ? plain.fenced() : plain;
            }

            /**
             * One reused key and lease.
             *
             * @threading caller-confined between a call and its outcome
             */
            static final class Callback implements LockHandle {
                private final Redlock redlock;
                private final ResourceKey key;
                private final AcquireOptions options;
                private final boolean isValidityReported;
                private final Lease lease;
                private final LockListener listener;
                // Method references are created once: one for each call would allocate.
                private final AcquireCallback onOutcome = this::onOutcome;
                private final ReleaseCallback onReleased = this::onReleased;

                Callback(Redlock redlock, LockSpec spec, boolean isWatched, LockListener listener) {
                    this.redlock = redlock;
                    this.key = redlock.key(spec.resource());
                    this.options = isWatched ? optionsOf(spec).watchLoss() : optionsOf(spec);
                    this.isValidityReported = spec.isValidityReported();
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
                    listener.onAcquire(RedlockVerdicts.of(outcome.kind()), validityNs);
                }

                private void onReleased(Lease released, ReleaseOutcome outcome) {
                    listener.onRelease(RedlockVerdicts.of(outcome));
                }
            }

            /**
             * A lease for each acquire, as in the short form.
             *
             * @threading caller-confined between a call and its outcome
             */
            static final class Blocking extends BlockingHandle {
                private final Redlock redlock;
                private final ResourceKey key;
                private final AcquireOptions options;
                private Lease lease;

                Blocking(CallerThreads threads, Redlock redlock, LockSpec spec, LockListener listener) {
                    super(threads, listener);
                    this.redlock = redlock;
                    this.key = redlock.key(spec.resource());
                    this.options = optionsOf(spec);
                }

                @Override
                AcquireVerdict tryAcquire() throws InterruptedException {
                    AcquireOutcome outcome = redlock.acquire(key, options);
                    if (outcome.isAcquired()) {
                        lease = outcome.lease();
                        validFor(lease.remainingValidityNs());
                    }
                    return RedlockVerdicts.of(outcome.kind());
                }

                @Override
                ReleaseVerdict tryRelease() {
                    return lease == null ? ReleaseVerdict.EXPIRED : RedlockVerdicts.of(lease.release());
                }
            }

            /**
             * A future and a lease for each acquire.
             *
             * @threading caller-confined between a call and its outcome
             */
            static final class Stage implements LockHandle {
                private final Redlock redlock;
                private final ResourceKey key;
                private final AcquireOptions options;
                private final LockListener listener;
                private Lease lease;

                Stage(Redlock redlock, LockSpec spec, LockListener listener) {
                    this.redlock = redlock;
                    this.key = redlock.key(spec.resource());
                    this.options = optionsOf(spec);
                    this.listener = listener;
                }

                @Override
                public void acquire() {
                    redlock.acquireAsync(key, options).thenAccept(this::onOutcome);
                }

                @Override
                public void release() {
                    if (lease == null) {
                        listener.onRelease(ReleaseVerdict.EXPIRED);
                        return;
                    }
                    lease.releaseAsync().thenAccept(outcome -> listener.onRelease(RedlockVerdicts.of(outcome)));
                }

                private void onOutcome(AcquireOutcome outcome) {
                    if (outcome.isAcquired()) {
                        lease = outcome.lease();
                    }
                    listener.onAcquire(RedlockVerdicts.of(outcome.kind()),
                            outcome.isAcquired() ? lease.remainingValidityNs() : 0);
                }
            }

            /**
             * Maps the outcomes of {@code redlock-core} to verdicts.
             *
             * @threading immutable
             */
            private static final class RedlockVerdicts {
                static AcquireVerdict of(AcquireOutcome.Kind kind) {
                    return switch (kind) {
                        case ACQUIRED -> AcquireVerdict.ACQUIRED;
                        case CONTENDED -> AcquireVerdict.CONTENDED;
                        case NO_QUORUM -> AcquireVerdict.NO_QUORUM;
                        case TOO_SLOW -> AcquireVerdict.TOO_SLOW;
                        case TIMED_OUT -> AcquireVerdict.TIMED_OUT;
                        case OVERLOADED -> AcquireVerdict.OVERLOADED;
                        case CLOSED, CANCELLED -> AcquireVerdict.CLOSED;
                    };
                }

                static ReleaseVerdict of(ReleaseOutcome outcome) {
                    return switch (outcome) {
                        case RELEASED -> ReleaseVerdict.RELEASED;
                        case EXPIRED -> ReleaseVerdict.EXPIRED;
                        case UNKNOWN -> ReleaseVerdict.UNKNOWN;
                        case KEPT -> throw new IllegalStateException("KEPT without holdAtLeast, which no driver sets");
                    };
                }
            }
        }
    }
}
