package org.example;

import jakarta.inject.Singleton;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;

/** The work of one instance. It ends when the test permits it, or when its thread is interrupted. */
@Singleton
class Work implements Shipping, Runnable {
    final BlockingQueue<String> started = new LinkedBlockingQueue<>();
    final CountDownLatch end = new CountDownLatch(1);

    @Override
    public void ship(String id) {
        work(id);
    }

    @Override
    public void run() {
        work("report");
    }

    private void work(String name) {
        started.add(name);
        try {
            end.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
