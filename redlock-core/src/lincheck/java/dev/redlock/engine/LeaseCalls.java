package dev.redlock.engine;

import static org.jetbrains.lincheck.datastructures.ManagedStrategyGuaranteeKt.forClasses;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ExtendOutcome;
import dev.redlock.api.LeaseState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.VirtualWorld;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jetbrains.kotlinx.lincheck.Actor;
import org.jetbrains.kotlinx.lincheck.execution.ExecutionScenario;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Validate;

/**
 * What threads call on one lease handle of a whole client, with a node in the same process and in virtual time.
 * Lincheck compares the results with those of {@link LeaseModel}. A call that the handle refuses, because another
 * request is in progress, is repeated.
 *
 * <p>A thread that waits runs the event loop, if no other thread does.
 */
public abstract class LeaseCalls {

    private static final Duration TTL = Duration.ofSeconds(10);
    private static final AcquireOptions OPTIONS = AcquireOptions.ofTtl(TTL).tryOnce();
    /** Lincheck switches threads between accesses in these classes. */
    private static final Set<String> EXPLORED = Set.of(LeaseHandle.class.getName(), RequestMailbox.class.getName(),
            LeaseView.class.getName(), Shutdown.class.getName(),
            LeaseOperations.class.getName(), ClosingOperations.class.getName());
    /** A field, because a logger without references loses its level. */
    private static final Logger LOG = Logger.getLogger("dev.redlock");

    static {
        LOG.setLevel(Level.SEVERE);
    }

    private final VirtualWorld world;
    private final VirtualWorld.Client client;
    private final Redlock redlock;
    private final ResourceKey key;
    private final LeaseHandle lease;
    private final AtomicReference<Thread> driver = new AtomicReference<>();
    private final AtomicInteger acquiringCount = new AtomicInteger();

    /** Called by Lincheck before each run of a scenario. */
    LeaseCalls() {
        world = new VirtualWorld(1);
        // A blocked caller spins, and reads the clock in each round.
        client = world.newClient("client", new RedlockContext().nodes(world.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .blockingSpin(Duration.ofMillis(1)), 1);
        world.runMs(10);
        redlock = client.redlock();
        key = redlock.key("r");
        lease = (LeaseHandle) redlock.newLease();
        client.clockListener(this::onClockRead);
        world.owner(null);
    }

    /** Acquires before the threads start. */
    final void hold() {
        callAcquire();
    }

    private void onClockRead() {
        if (driver.get() != Thread.currentThread()) {
            pause();
        }
    }

    /** Lets the event loop, or another caller, make progress. */
    private void pause() {
        Thread current = Thread.currentThread();
        if (driver.compareAndSet(null, current)) {
            world.owner(current);
            world.settle();
            world.owner(null);
            driver.set(null);
        } else {
            Thread.yield();
        }
    }

    /** Waits until the event loop has executed a request that has no outcome of its own. */
    private void awaitTaken() {
        while (!lease.isTaken(RequestMailbox.CANCEL)) {
            pause();
        }
        CompletableFuture<Void> turn = new CompletableFuture<>();
        client.engine().execute(() -> turn.complete(null));
        while (!turn.isDone()) {
            pause();
        }
    }

    final String callAcquire() {
        acquiringCount.incrementAndGet();
        try {
            String outcome = tryAcquire();
            while (outcome == null) {
                pause();
                outcome = tryAcquire();
            }
            return outcome;
        } finally {
            acquiringCount.decrementAndGet();
        }
    }

    private String tryAcquire() {
        AtomicReference<AcquireOutcome.Kind> kind = new AtomicReference<>();
        try {
            redlock.acquire(key, OPTIONS, lease, outcome -> kind.set(outcome.kind()));
        } catch (IllegalStateException e) {
            return e.getMessage().contains("its state is " + LeaseState.HELD) ? "IN_USE" : null;
        }
        while (kind.get() == null) {
            pause();
        }
        return kind.get() == AcquireOutcome.Kind.CANCELLED ? null : kind.get().name();
    }

    final void callCancel() {
        lease.cancel();
        awaitTaken();
    }

    final String callRelease() {
        while (true) {
            String result = resultOf(this::releaseBlocking);
            if (result != null) {
                return result;
            }
            pause();
        }
    }

    final String callReleaseWithCallback() {
        while (true) {
            String result = resultOf(this::releaseByCallback);
            if (result != null) {
                return result;
            }
            pause();
        }
    }

    private interface Request {
        Enum<?> send();
    }

    /** Null if the handle has refused the request because another one is in progress. */
    private static String resultOf(Request request) {
        try {
            Enum<?> outcome = request.send();
            return outcome == null ? null : outcome.name();
        } catch (IllegalStateException e) {
            return e.getMessage().contains("never used") ? "NOT_HELD" : null;
        }
    }

    private enum Released {
        RELEASED, NOT_HELD
    }

    private Released releaseBlocking() {
        return released(lease.release());
    }

    private Released releaseByCallback() {
        AtomicReference<ReleaseOutcome> result = new AtomicReference<>();
        lease.release((given, outcome) -> result.set(outcome));
        while (result.get() == null) {
            pause();
        }
        return released(result.get());
    }

    /** A handle between an acquisition that was cancelled and the next one is not that of the model. */
    private Released released(ReleaseOutcome outcome) {
        if (outcome == ReleaseOutcome.RELEASED) {
            return Released.RELEASED;
        }
        if (outcome == ReleaseOutcome.UNKNOWN && !lease.state().isFinal()) {
            // The other thread has released and reused the handle.
            return null;
        }
        return acquiringCount.get() == 0 || lease.state() == LeaseState.HELD ? Released.NOT_HELD : null;
    }

    final void callClose() {
        lease.close();
        awaitTaken();
    }

    final String callExtend() {
        while (true) {
            String result = resultOf(() -> lease.extend(TTL));
            if (result != null) {
                return result;
            }
            pause();
        }
    }

    final String callExtendWithCallback() {
        while (true) {
            String result = resultOf(this::extendByCallback);
            if (result != null) {
                return result;
            }
            pause();
        }
    }

    private ExtendOutcome extendByCallback() {
        AtomicReference<ExtendOutcome> result = new AtomicReference<>();
        lease.extend(TTL.toMillis(), (given, outcome) -> result.set(outcome));
        while (result.get() == null) {
            pause();
        }
        return result.get();
    }

    final boolean callIsHeld() {
        return lease.isHeld();
    }

    final void callCloseClient() {
        CompletableFuture<?> report = client.engine().close(Duration.ofSeconds(1));
        while (!report.isDone()) {
            pause();
        }
    }

    @Validate
    public void theNodeHasTheKeyOfAHeldLeaseOnly() {
        world.owner(Thread.currentThread());
        client.clockListener(() -> {
        });
        world.settle();
        boolean isKeySet = world.node(0).redis().get("r") != null;
        boolean isHeld = lease.state() == LeaseState.HELD;
        List<String> wrong = client.engine().engine().stateViolations(List.of(lease));
        world.end();
        if (isKeySet != isHeld || !wrong.isEmpty()) {
            throw new IllegalStateException("key " + isKeySet + ", held " + isHeld + ", " + wrong);
        }
    }

    /** Code that calls no explored class, or has static state, which Lincheck would copy for each run. */
    private static boolean isIgnored(String name) {
        return name.startsWith("dev.redlock.quorum.")
                || name.startsWith("dev.redlock.sim.Fake")
                || name.equals("dev.redlock.node.send.FanOut")
                || name.equals("dev.redlock.telemetry.Log")
                || name.startsWith("io.netty.buffer.")
                || name.startsWith("io.netty.util.") && !name.startsWith("io.netty.util.concurrent.")
                || name.equals("io.netty.channel.local.LocalChannelRegistry");
    }

    private static boolean isMuted(String name) {
        return !isIgnored(name) && !EXPLORED.contains(name)
                && (name.startsWith("dev.redlock.") || name.startsWith("io.netty.") || name.startsWith("java."));
    }

    private static ModelCheckingOptions options(Class<? extends LeaseModel> model, int runCount) {
        return new ModelCheckingOptions().invocationsPerIteration(runCount)
                .sequentialSpecification(model)
                // The scenarios are short already, and each step of the search for a shorter one has all runs again.
                .minimizeFailedScenario(false)
                .addGuarantee(forClasses(LeaseCalls::isIgnored).allMethods().ignore())
                .addGuarantee(forClasses(LeaseCalls::isMuted).allMethods().mute$lincheck());
    }

    /** Random calls of two threads, between one before and one after; throws if the model explains no order. */
    static void checkRandom(Class<? extends LeaseCalls> operations, Class<? extends LeaseModel> model, int callCount,
            int scenarioCount, int runCount) {
        options(model, runCount).threads(2)
                .actorsBefore(1)
                .actorsPerThread(callCount)
                .actorsAfter(1)
                .iterations(scenarioCount)
                .check(operations);
    }

    /** Given calls of {@link LeaseOperations}: some before, then those of two threads. */
    static void check(int runCount, List<String> before, List<String> first, List<String> second) {
        options(LeaseModel.class, runCount).iterations(0)
                .addCustomScenario(new ExecutionScenario(actors(before), List.of(actors(first), actors(second)),
                        List.of(), null))
                .check(LeaseOperations.class);
    }

    private static List<Actor> actors(List<String> calls) {
        return calls.stream().map(LeaseCalls::actor).toList();
    }

    private static Actor actor(String call) {
        try {
            return new Actor(LeaseOperations.class.getMethod(call), List.of());
        } catch (NoSuchMethodException e) {
            throw new IllegalArgumentException(call, e);
        }
    }
}
