package org.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.trial.nodes.OrphanGuard;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Three processes increment a counter under a lock. Each is stopped in turn until another one has the lock, so that it
 * continues in the middle of its work with a lock that has passed on.
 */
@Timeout(value = 2, unit = TimeUnit.HOURS)
class PausedHoldersTest {

    private static final long FENCED_NS = TimeUnit.SECONDS.toNanos(Long.getLong("paused.seconds", 6));
    private static final long UNFENCED_NS_MAX = TimeUnit.SECONDS.toNanos(60);
    private static final int HOLDERS = 3;
    private static final String LATE = """
            SELECT count(*) FROM (SELECT fence, max(fence) OVER (ORDER BY id) AS newest FROM writes) AS w
            WHERE fence < newest""";
    private static final String LOST = "SELECT count(*) - (SELECT state::bigint FROM orders) FROM writes";

    private final List<Process> holders = new ArrayList<>();
    private final List<BlockingQueue<String>> grants = new ArrayList<>();
    private final OrphanGuard guard = OrphanGuard.start();
    private RedisNodes nodes;
    private Postgres postgres;
    private Connection database;

    @BeforeEach
    void start() throws Exception {
        postgres = Postgres.start();
        nodes = RequiredNodes.start(Source.PATH, 3);
        database = postgres.connect();
        postgres.execute("CREATE TABLE orders (id INT PRIMARY KEY, state VARCHAR(40), fence BIGINT NOT NULL)",
                "CREATE TABLE writes (id BIGINT GENERATED ALWAYS AS IDENTITY, state VARCHAR(40), fence BIGINT)",
                "INSERT INTO orders VALUES (42, '0', 0)",
                """
                        CREATE FUNCTION record_write() RETURNS trigger LANGUAGE plpgsql AS
                        'BEGIN INSERT INTO writes (state, fence) VALUES (NEW.state, NEW.fence); RETURN NULL; END'""",
                """
                        CREATE TRIGGER written AFTER UPDATE ON orders FOR EACH ROW
                        WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION record_write()""");
    }

    @AfterEach
    void end() throws Exception {
        for (Process holder : holders) {
            holder.destroyForcibly().waitFor();
            guard.onEnded(OptionalLong.of(holder.pid()));
        }
        guard.close();
        if (database != null) {
            database.close();
            nodes.close();
        }
        if (postgres != null) {
            postgres.close();
        }
    }

    @Test
    void noLateWriteLandsAndNoIncrementIsLost() throws Exception {
        startHolders(true);
        long startNs = System.nanoTime();
        int pauses = 0;
        while (System.nanoTime() - startNs < FENCED_NS || pauses < HOLDERS) {
            pause(pauses % HOLDERS);
            pauses++;
        }
        stopHolders();
        System.out.println(pauses + " pauses, " + Sql.text(database, "SELECT state FROM orders") + " writes");
        assertEquals("0", Sql.text(database, LATE), "late writes");
        assertEquals("0", Sql.text(database, LOST), "lost increments");
        assertTrue(Long.parseLong(Sql.text(database, "SELECT count(*) FROM writes")) > pauses / HOLDERS);
    }

    /** This run has what the other one does not find. */
    @Test
    void wrongCheckTheLeaseOnly() throws Exception {
        startHolders(false);
        long startNs = System.nanoTime();
        int pauses = 0;
        do {
            pause(pauses % HOLDERS);
            pauses++;
            assertTrue(System.nanoTime() - startNs < UNFENCED_NS_MAX, "no late write in " + pauses + " pauses");
        } while (Sql.text(database, LATE).equals("0"));
        stopHolders();
        System.out.println("a late write landed after " + pauses + " pauses");
    }

    private void startHolders(boolean isFenced) throws IOException {
        String java = Path.of(System.getProperty("java.home"), "bin/java").toString();
        for (int i = 0; i < HOLDERS; i++) {
            List<String> command = new ArrayList<>(List.of(java, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
                    System.getProperty("java.class.path"),
                    Holder.class.getName(), Boolean.toString(isFenced), postgres.url));
            command.addAll(List.of(nodes.addresses()));
            Process holder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
            guard.onStarted(OptionalLong.of(holder.pid()));
            holder.getOutputStream().write(postgres.password.getBytes());
            holder.getOutputStream().flush();
            BlockingQueue<String> lines = new LinkedBlockingQueue<>();
            Thread reader = new Thread(() -> {
                try (BufferedReader output = holder.inputReader()) {
                    output.lines().forEach(lines::add);
                } catch (IOException | UncheckedIOException e) {
                    lines.add("ended");
                }
            });
            reader.setDaemon(true);
            reader.start();
            holders.add(holder);
            grants.add(lines);
        }
    }

    /** Stops a process soon after it has acquired the lock, until another process has acquired it. */
    private void pause(int index) throws Exception {
        Process holder = holders.get(index);
        awaitGrant(index);
        // Some of these stop it before its check of the lease, some between the check and the write.
        Sql.text(database, "SELECT count(*) FROM generate_series(1, ?)",
                ThreadLocalRandom.current().nextInt(100_000));
        signal("-STOP", holder);
        awaitGrant((index + 1) % HOLDERS);
        signal("-CONT", holder);
    }

    private void awaitGrant(int index) throws InterruptedException {
        grants.get(index).clear();
        assertNotNull(grants.get(index).poll(60, TimeUnit.SECONDS), "no grant in 60 s");
    }

    private static void signal(String signal, Process process) throws Exception {
        assertEquals(0, new ProcessBuilder("kill", signal, Long.toString(process.pid())).start().waitFor());
    }

    /** What they have sent is in the database when it has closed their connections. */
    private void stopHolders() throws Exception {
        for (Process holder : holders) {
            holder.getOutputStream().close();
            assertTrue(holder.waitFor(30, TimeUnit.SECONDS));
        }
        long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!Sql.text(database, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")
                .equals("1")) {
            assertTrue(deadlineNs - System.nanoTime() > 0, "a connection is still open");
        }
    }
}
