package dev.redlock.loadtest.lock;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.loadtest.Await;
import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/**
 * A program whose many threads wait for one lock while another one uses other locks: virtual threads where the JVM has
 * them, platform threads where not. It is run with a single carrier, so that one pinned thread would stop the rest.
 */
final class ParkedUsers {

    private static final Duration TTL = Duration.ofSeconds(60);
    private static final Duration PATIENCE = Duration.ofSeconds(50);
    private static final int WAITERS = 200;
    private static final int LOCKERS = 50;
    private static final int CYCLES = 100;

    private final Redlock redlock;
    private final Lock view;
    private final AtomicInteger served = new AtomicInteger();
    private final AtomicInteger cycles = new AtomicInteger();
    private final MethodHandle startVirtual = startVirtual();

    private ParkedUsers(Redlock redlock) {
        this.redlock = redlock;
        this.view = redlock.asLock("held", AcquireOptions.ofTtl(TTL).tryOnce());
    }

    public static void main(String[] args) throws Throwable {
        RedlockContext context = new RedlockContext().nodes(args)
                .restartGuard(RestartGuardMode.OFF)
                .connectTimeout(Duration.ofSeconds(20))
                .nodeTimeout(Duration.ofSeconds(10));
        try (Redlock redlock = Redlock.connect(context); Recording recording = new Recording()) {
            ParkedUsers users = new ParkedUsers(redlock);
            // Classes are initialised here, not on the one carrier.
            users.workWithOthers();
            users.served.set(0);
            users.cycles.set(0);
            recording.enable("jdk.VirtualThreadPinned").withThreshold(Duration.ZERO).withStackTrace();
            recording.start();
            users.run();
            recording.stop();
            System.out.println("pinned " + pinned(recording));
        }
    }

    private void run() throws Throwable {
        Lease held = redlock.acquire("held", TTL).lease();
        List<Thread> parked = new ArrayList<>();
        for (int i = 0; i < WAITERS; i++) {
            parked.add(start(this::waitForLease));
        }
        for (int i = 0; i < LOCKERS; i++) {
            parked.add(start(this::waitForView));
        }
        Await.until("all are parked", () -> parked.stream().allMatch(ParkedUsers::isParked));
        Thread worker = start(this::workWithOthers);
        worker.join(60_000);
        long parkedCount = parked.stream().filter(ParkedUsers::isParked).count();
        System.out.println((startVirtual == null ? "platform" : "virtual") + " threads, " + parkedCount + " parked, "
                + cycles.get() + " cycles beside them");
        held.release();
        for (Thread thread : parked) {
            thread.join(60_000);
        }
        System.out.println("served " + served.get());
    }

    private static boolean isParked(Thread thread) {
        return thread.getState() == Thread.State.WAITING || thread.getState() == Thread.State.TIMED_WAITING;
    }

    private void waitForLease() {
        try {
            AcquireOutcome outcome = redlock.tryAcquire("held", TTL, PATIENCE);
            if (outcome.isAcquired()) {
                served.incrementAndGet();
                outcome.lease().release();
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private void waitForView() {
        view.lock();
        try {
            served.incrementAndGet();
        } finally {
            view.unlock();
        }
    }

    /** Every blocking form, again and again. */
    private void workWithOthers() {
        Lock other = redlock.asLock("other", AcquireOptions.ofTtl(TTL).tryOnce());
        try {
            for (int i = 0; i < CYCLES; i++) {
                try (Lease lease = redlock.tryAcquire("another", TTL, PATIENCE).lease()) {
                    lease.extend(TTL);
                }
                other.lock();
                other.unlock();
                cycles.incrementAndGet();
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private Thread start(Runnable task) throws Throwable {
        if (startVirtual != null) {
            return (Thread) startVirtual.invokeExact(task);
        }
        Thread thread = new Thread(task);
        thread.start();
        return thread;
    }

    /** {@code Thread.startVirtualThread}, which is younger than the release that this is compiled for. */
    private static MethodHandle startVirtual() {
        try {
            return Runtime.version().feature() < 21
                    ? null
                    : MethodHandles.lookup()
                            .findStatic(Thread.class, "startVirtualThread",
                                    MethodType.methodType(Thread.class, Runnable.class));
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    /** Times that a virtual thread could not leave its carrier inside of the client. */
    private static long pinned(Recording recording) throws IOException {
        Path file = Files.createTempFile("parked-users-", ".jfr");
        try {
            recording.dump(file);
            return RecordingFile.readAllEvents(file).stream().filter(ParkedUsers::isInsideTheClient).count();
        } finally {
            Files.delete(file);
        }
    }

    private static boolean isInsideTheClient(RecordedEvent event) {
        boolean isInside = event.getEventType().getName().equals("jdk.VirtualThreadPinned")
                && (event.getStackTrace() == null || event.getStackTrace()
                        .getFrames()
                        .stream()
                        .map(frame -> frame.getMethod().getType().getName())
                        .anyMatch(
                                name -> name.startsWith("dev.redlock.") && !name.equals(ParkedUsers.class.getName())));
        if (isInside) {
            System.err.println(event);
        }
        return isInside;
    }
}
