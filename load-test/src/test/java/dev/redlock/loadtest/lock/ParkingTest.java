package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.Lease;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.loadtest.Await;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a blocking call keeps while it waits: its thread, and nothing else. */
class ParkingTest {

    private static final Duration TTL = Duration.ofSeconds(60);

    @TempDir
    private Path folder;

    /** On JDK 21 and later the threads are virtual and there is one carrier for all of them. */
    @Test
    @Timeout(150)
    void waitingVirtualThreadsReleaseTheirCarriers() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(Source.PATH, 3)) {
            Path out = folder.resolve("out");
            Path err = folder.resolve("err");
            List<String> command = new ArrayList<>(
                    List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                            "-Djdk.virtualThreadScheduler.parallelism=1", "-Djdk.virtualThreadScheduler.maxPoolSize=1",
                            "-Djava.io.tmpdir=" + folder, "-cp",
                            System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                            ParkedUsers.class.getName()));
            command.addAll(List.of(nodes.addresses()));
            Process process = new ProcessBuilder(command).redirectOutput(out.toFile())
                    .redirectError(err.toFile())
                    .start();
            try {
                assertTrue(process.waitFor(120, TimeUnit.SECONDS), () -> "it ends without a signal: " + text(out));
                String kind = Runtime.version().feature() >= 21 ? "virtual" : "platform";
                assertEquals(0, process.exitValue(), () -> text(err));
                assertEquals(List.of(kind + " threads, 250 parked, 100 cycles beside them", "served 250", "pinned 0"),
                        Files.readAllLines(out), () -> text(err));
            } finally {
                process.destroyForcibly();
            }
        }
    }

    /** A monitor held by a waiting thread would pin a virtual one on JDK 21 to 23, and asks for trouble on any. */
    @Test
    @Timeout(60)
    void noMonitorIsHeldWhileAThreadWaits() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(Source.PATH, 3);
                Redlock redlock = Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                        .restartGuard(RestartGuardMode.OFF)
                        .nodeTimeout(Duration.ofSeconds(20)))) {
            Lease released = redlock.acquire("released", TTL).lease();
            Lease extended = redlock.acquire("extended", TTL).lease();
            Lock[] views = new Lock[3];
            Arrays.setAll(views, i -> redlock.asLock("view " + i, AcquireOptions.ofTtl(TTL).tryOnce()));
            nodes.nodes().forEach(RedisNode::pause);
            List<Thread> waiting = new ArrayList<>();
            for (Blocking call : List.<Blocking>of(released::release, () -> extended.extend(TTL),
                    () -> redlock.tryAcquire("tried", TTL), () -> redlock.acquire("acquired", TTL), views[0]::lock,
                    views[1]::lockInterruptibly, () -> views[2].tryLock(30, TimeUnit.SECONDS))) {
                Thread thread = new Thread(() -> run(call));
                waiting.add(thread);
                thread.start();
            }
            Await.until("all wait", () -> waiting.stream().allMatch(ParkingTest::isWaiting));
            long[] ids = waiting.stream().mapToLong(Thread::getId).toArray();
            for (ThreadInfo info : ManagementFactory.getThreadMXBean().getThreadInfo(ids, true, true)) {
                assertEquals(0, info.getLockedMonitors().length, info::toString);
            }
            nodes.nodes().forEach(RedisNode::resume);
            for (Thread thread : waiting) {
                thread.join();
            }
        }
    }

    /** Some call that waits for nodes. */
    @FunctionalInterface
    private interface Blocking {
        void run() throws InterruptedException;
    }

    private static void run(Blocking call) {
        try {
            call.run();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static boolean isWaiting(Thread thread) {
        return thread.getState() == Thread.State.WAITING || thread.getState() == Thread.State.TIMED_WAITING;
    }

    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return e.toString();
        }
    }
}
