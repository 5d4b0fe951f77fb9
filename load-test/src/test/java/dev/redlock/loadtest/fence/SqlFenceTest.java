package dev.redlock.loadtest.fence;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.Lease;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The statements of docs/guides/fencing.md in a real database. */
class SqlFenceTest {
    private static final String ONCE = GuideBlock.text("sql");
    private static final String AGAIN = ONCE.replace("fence < ?", "fence <= ?");
    private static final int ORDER = 42;

    private Connection database;

    @BeforeEach
    void createTable() throws SQLException {
        database = connect();
        try (Statement statement = database.createStatement()) {
            statement.execute("DROP ALL OBJECTS");
            statement.execute("CREATE TABLE orders (id INT PRIMARY KEY, state VARCHAR(40), fence BIGINT NOT NULL)");
            statement.execute("INSERT INTO orders VALUES (" + ORDER + ", 'new', 0)");
        }
    }

    @AfterEach
    void closeDatabase() throws SQLException {
        database.close();
    }

    private static Connection connect() throws SQLException {
        return DriverManager.getConnection("jdbc:h2:mem:fence;DB_CLOSE_DELAY=-1");
    }

    @Test
    void earlierHolderChangesNoRow() throws Exception {
        try (RedisNodes nodes = RequiredNodes.start(new RedisNodesContext().count(3));
                Redlock first = client(nodes);
                Redlock second = client(nodes)) {
            AcquireOptions fenced = AcquireOptions.ofTtl(Duration.ofMillis(400))
                    .waitUpTo(Duration.ofSeconds(10))
                    .fenced();
            Lease late = first.acquire(first.key("orders/42"), fenced).lease();
            try (Lease next = second.acquire(second.key("orders/42"), fenced).lease()) {
                assertEquals(1, update(database, ONCE, "paid", next.fencingToken()));
                assertEquals(0, update(database, ONCE, "cancelled", late.fencingToken()));
                assertEquals("paid", state());
            }
        }
    }

    @Test
    void strictComparisonAcceptsOneWritePerHolder() throws SQLException {
        assertEquals(1, update(database, ONCE, "first", 7));
        assertEquals(0, update(database, ONCE, "again", 7));
        assertEquals(1, update(database, ONCE, "next", 8));
        assertEquals("next", state());
    }

    @Test
    void looseComparisonAcceptsRepeatedWritesButNoneOfAnEarlierHolder() throws SQLException {
        assertEquals(1, update(database, AGAIN, "first", 7));
        assertEquals(1, update(database, AGAIN, "again", 7));
        assertEquals(1, update(database, AGAIN, "next", 8));
        assertEquals(0, update(database, AGAIN, "late", 7));
        assertEquals("next", state());
    }

    /** Whatever the order in which writes arrive, the row ends with the highest token, and each row count is right. */
    @Test
    void concurrentWritesNeverLowerTheFence() throws Exception {
        int writers = 4;
        CountDownLatch start = new CountDownLatch(1);
        List<Long> taken = Collections.synchronizedList(new ArrayList<>());
        List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < writers; i++) {
            threads.add(new Thread(() -> {
                try (Connection own = connect()) {
                    start.await();
                    for (int k = 0; k < 200; k++) {
                        long fence = ThreadLocalRandom.current().nextLong(1, 1_000_000);
                        if (update(own, ONCE, "state " + fence, fence) == 1) {
                            taken.add(fence);
                        }
                    }
                } catch (Exception e) {
                    failures.add(e);
                }
            }));
        }
        threads.forEach(Thread::start);
        start.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(List.of(), failures);
        assertEquals(taken.size(), taken.stream().distinct().count(), "no token wrote twice");
        assertEquals("state " + Collections.max(taken), state());
        assertTrue(taken.size() > 1);
    }

    private static int update(Connection connection, String sql, String state, long fence) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setString(1, state);
            statement.setLong(2, fence);
            statement.setInt(3, ORDER);
            statement.setLong(4, fence);
            return statement.executeUpdate();
        }
    }

    private String state() throws SQLException {
        try (Statement statement = database.createStatement();
                ResultSet rows = statement.executeQuery("SELECT state FROM orders WHERE id = " + ORDER)) {
            assertTrue(rows.next());
            return rows.getString(1);
        }
    }

    private static Redlock client(RedisNodes nodes) {
        return Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(1)));
    }
}
