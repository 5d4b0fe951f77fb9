package org.example;

import jakarta.inject.Singleton;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;

/** The work of the application. Each piece ends when the test permits it, or when its thread is interrupted. */
@Singleton
class Work implements Shipping, Runnable {
    final BlockingQueue<String> started = new LinkedBlockingQueue<>();
    final Semaphore ends = new Semaphore(0);
    final BlockingQueue<String> reports = new LinkedBlockingQueue<>();
    final Semaphore endsOfReports = new Semaphore(0);

    @Override
    public void ship(String id) {
        work(id, started, ends);
    }

    @Override
    public void run() {
        work("report", reports, endsOfReports);
    }

    private static void work(String name, BlockingQueue<String> started, Semaphore ends) {
        started.add(name);
        try {
            ends.acquire();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
