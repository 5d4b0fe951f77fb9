package dev.redlock.loadtest.election;

import dev.redlock.AcquireOptions;
import dev.redlock.Election;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.LeaseTask;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Clients with connections of their own, which stand for as many processes.
 *
 * @threading caller-confined
 */
final class Candidates implements AutoCloseable {
    private static final int LIMIT_S = 60;

    private final List<Redlock> clients = new ArrayList<>();
    private final BlockingQueue<Elected> elected = new LinkedBlockingQueue<>();

    /**
     * A candidate that leads.
     *
     * @param resource what it leads: a candidate that leaves may have been elected last
     * @param atNs     when it was notified, by {@link System#nanoTime}
     * @threading immutable
     */
    record Elected(String resource, Election.Term term, long atNs) {
    }

    /** Connects so many clients to the nodes. */
    Candidates(String[] addresses, int count) {
        try {
            for (int i = 0; i < count; i++) {
                clients.add(Redlock.connect(new RedlockContext().nodes(addresses)));
            }
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    /** All of them want to lead. */
    List<Election> elect(String resource, AcquireOptions options) {
        return clients.stream()
                .map(client -> client.elect(resource, options,
                        term -> elected.add(new Elected(resource, term, System.nanoTime()))))
                .toList();
    }

    /** Waits for the next one that leads. */
    Elected next(String resource) throws InterruptedException, IOException {
        while (true) {
            Elected next = elected.poll(LIMIT_S, TimeUnit.SECONDS);
            if (next == null) {
                throw new IOException("nobody was elected within " + LIMIT_S + " s");
            }
            if (next.resource.equals(resource)) {
                return next;
            }
        }
    }

    /** All of them try to run a task at the same time; returns how many did, after all know. */
    int tryRun(String resource, AcquireOptions options) throws InterruptedException, IOException {
        AtomicInteger ran = new AtomicInteger();
        CountDownLatch start = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(clients.size());
        LeaseTask<RuntimeException> task = lease -> ran.incrementAndGet();
        ExecutorService threads = Executors.newFixedThreadPool(clients.size());
        try {
            for (Redlock client : clients) {
                threads.execute(() -> {
                    try {
                        start.await();
                        client.tryRun(resource, options, task);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    } finally {
                        end.countDown();
                    }
                });
            }
            start.countDown();
            if (!end.await(LIMIT_S, TimeUnit.SECONDS)) {
                throw new IOException("tryRun has not returned within " + LIMIT_S + " s");
            }
        } finally {
            threads.shutdownNow();
        }
        return ran.get();
    }

    @Override
    public void close() {
        clients.parallelStream().forEach(Redlock::close);
    }
}
