package dev.redlock.loadtest.start;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.Lease;
import dev.redlock.api.RestartGuardMode;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/**
 * A small service in its first second. It prints times since the start of its process and latencies from the intended
 * times of its requests. It uses nothing but the client, so that no class of a tool is loaded.
 *
 * <pre>FirstSecond START_NS RATE THREADS ADDRESS,ADDRESS,...</pre>
 *
 * It ends with its standard input, so with its parent.
 *
 * @threading any thread, each with requests of its own
 */
public final class FirstSecond {
    /** The start of its line: the JVM prints warnings of its own before and after. */
    static final String FIGURES = "figures ";
    /** The exit code of a process whose standard input has ended. */
    static final int END_OF_INPUT = 143;

    private static final Duration TTL = Duration.ofSeconds(10);
    private static final double NS_PER_MS = 1e6;
    private static final double NS_PER_US = 1e3;
    private static final long NS_PER_S = 1_000_000_000;

    private final Redlock redlock;
    private final int rate;
    private final long[] latenciesNs;
    private final AtomicInteger next = new AtomicInteger();
    private final AtomicReference<RuntimeException> failure = new AtomicReference<>();
    private final long beginNs = System.nanoTime();

    private FirstSecond(Redlock redlock, int rate) {
        this.redlock = redlock;
        this.rate = rate;
        this.latenciesNs = new long[rate];
    }

    public static void main(String[] args) throws InterruptedException {
        long mainNs = System.nanoTime();
        long startNs = Long.parseLong(args[0]);
        endWithInput();
        RedlockContext context = new RedlockContext().nodes(args[3].split(","))
                .restartGuard(RestartGuardMode.OFF);
        System.out.println(FIGURES + (mainNs - startNs) / NS_PER_MS + " "
                + measure(context, startNs, Integer.parseInt(args[1]), Integer.parseInt(args[2])));
    }

    /** Ends this process with its parent. The first lambda of a process takes longer than this class. */
    private static void endWithInput() {
        Thread watch = new Thread("end-of-input") {
            @Override
            public void run() {
                try {
                    while (System.in.read() >= 0) {
                        continue;
                    }
                } catch (IOException e) {
                    // The parent has ended, which is the end of input too.
                }
                Runtime.getRuntime().halt(END_OF_INPUT);
            }
        };
        watch.setDaemon(true);
        watch.start();
    }

    /** Throws IllegalStateException if a request has no lock. */
    static String measure(RedlockContext context, long startNs, int rate, int threadCount)
            throws InterruptedException {
        try (Redlock redlock = Redlock.connect(context)) {
            long connectedNs = System.nanoTime();
            redlock.acquire("first", TTL).lease().close();
            long lockedNs = System.nanoTime();
            FirstSecond second = new FirstSecond(redlock, rate);
            second.run(threadCount);
            return (connectedNs - startNs) / NS_PER_MS + " " + (lockedNs - connectedNs) / NS_PER_MS + " "
                    + second.us(0.5) + " " + second.us(0.9) + " " + second.us(0.99) + " " + second.us(1);
        }
    }

    private void run(int threadCount) throws InterruptedException {
        Thread[] threads = new Thread[threadCount];
        for (int i = 0; i < threadCount; i++) {
            threads[i] = new Thread(this::serve, "request-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (failure.get() != null) {
            throw new IllegalStateException("a request failed: " + failure.get().getMessage(), failure.get());
        }
        Arrays.sort(latenciesNs);
        if (latenciesNs[0] == 0) {
            throw new IllegalStateException("a request has not ended");
        }
    }

    private void serve() {
        try {
            for (int request = next.getAndIncrement(); request < rate; request = next.getAndIncrement()) {
                long intendedNs = beginNs + request * NS_PER_S / rate;
                for (long leftNs = intendedNs - System.nanoTime(); leftNs > 0; leftNs = intendedNs
                        - System.nanoTime()) {
                    LockSupport.parkNanos(leftNs);
                }
                Lease lease = redlock.acquire("request-" + request, TTL).lease();
                latenciesNs[request] = System.nanoTime() - intendedNs;
                lease.close();
            }
        } catch (RuntimeException e) {
            failure.set(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The latency that this share of the requests does not exceed. */
    private double us(double share) {
        return latenciesNs[(int) Math.ceil(share * rate) - 1] / NS_PER_US;
    }
}
