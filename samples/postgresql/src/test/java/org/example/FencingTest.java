package org.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The statements of README.md on PostgreSQL, and what goes wrong without them. The late holder has token 1, the present
 * one token 2.
 */
@Timeout(60)
class FencingTest {

    private static final int ID = 42;
    private static final String UPDATE = Sql.shown("SET state = ?, fence = ? WHERE id = ? AND fence <= ?");
    private static final String RAISE = Sql.shown("RETURNING state");
    private static final String UPSERT = Sql.shown("INSERT INTO orders");
    private static final String TOMBSTONE = Sql.shown("state = NULL");
    private static final String GUARD = Sql.shown("INSERT INTO guards");
    private static final String LIMIT = Sql.shown("idle_in_transaction_session_timeout");
    private static final String UNGUARDED = "UPDATE orders SET state = ?, fence = ? WHERE id = ?";

    private static Postgres postgres;
    private static ExecutorService threads;

    private Connection late;
    private Connection present;

    @BeforeAll
    static void start() throws Exception {
        postgres = Postgres.start();
        threads = Executors.newCachedThreadPool();
        postgres.execute("CREATE TABLE orders (id INT PRIMARY KEY, state VARCHAR(40), fence BIGINT NOT NULL)",
                "CREATE TABLE guards (resource VARCHAR(200) PRIMARY KEY, fence BIGINT NOT NULL)",
                "CREATE TABLE items (order_id INT NOT NULL, name VARCHAR(40) NOT NULL)");
    }

    @AfterAll
    static void end() throws Exception {
        if (postgres != null) {
            threads.shutdownNow();
            postgres.close();
        }
    }

    @BeforeEach
    void createRow() throws SQLException {
        postgres.execute("TRUNCATE orders, guards, items", "INSERT INTO orders VALUES (" + ID + ", 'new', 0)");
        late = postgres.connect();
        present = postgres.connect();
    }

    @AfterEach
    void disconnect() throws SQLException {
        late.close();
        present.close();
    }

    @Test
    void theUpdateOfALateHolderChangesNoRow() throws SQLException {
        assertEquals(1, Sql.update(late, UPDATE, "late", 1L, ID, 1L));
        assertEquals(1, Sql.update(late, UPDATE, "late again", 1L, ID, 1L));
        assertEquals(1, Sql.update(present, UPDATE, "present", 2L, ID, 2L));
        assertEquals(0, Sql.update(late, UPDATE, "too late", 1L, ID, 1L));
        assertEquals("present", state());
    }

    /** It finds the old token at its start, waits for the other transaction, and evaluates its condition anew. */
    @Test
    void anUpdateThatWaitsComparesWithTheNewRow() throws Exception {
        present.setAutoCommit(false);
        assertEquals(1, Sql.update(present, UPDATE, "present", 2L, ID, 2L));
        Future<Integer> waiting = whileItWaits(() -> Sql.update(late, UPDATE, "late", 1L, ID, 1L));
        present.commit();
        assertEquals(0, waiting.get());
        assertEquals("present", state());
    }

    @Test
    void atRepeatableReadTheTransactionHasToBeRunAgain() throws Exception {
        late.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        late.setAutoCommit(false);
        assertEquals("new", Sql.text(late, "SELECT state FROM orders WHERE id = ?", ID));
        assertEquals(1, Sql.update(present, UPDATE, "present", 2L, ID, 2L));
        SQLException failure = assertThrows(SQLException.class, () -> Sql.update(late, UPDATE, "late", 1L, ID, 1L));
        assertEquals("40001", failure.getSQLState());
        late.rollback();
        assertEquals(0, Sql.update(late, UPDATE, "late", 1L, ID, 1L));
    }

    @Test
    void wrongCompareInTheProgram() throws SQLException {
        assertEquals("0", Sql.text(late, "SELECT fence FROM orders WHERE id = ?", ID));
        assertEquals(1, Sql.update(present, UPDATE, "present", 2L, ID, 2L));
        assertEquals(1, Sql.update(late, UNGUARDED, "late", 1L, ID));
        assertEquals("late", state());
    }

    @Test
    void selectForUpdateKeepsTheOrder() throws Exception {
        late.setAutoCommit(false);
        assertEquals("0", Sql.text(late, "SELECT fence FROM orders WHERE id = ? FOR UPDATE", ID));
        Future<Integer> waiting = whileItWaits(() -> Sql.update(present, UPDATE, "present", 2L, ID, 2L));
        assertEquals(1, Sql.update(late, UNGUARDED, "late", 1L, ID));
        late.commit();
        assertEquals(1, waiting.get());
        assertEquals("present", state());
    }

    @Test
    void wrongReadWithoutRaisingTheToken() throws SQLException {
        assertEquals("new", Sql.text(present, "SELECT state FROM orders WHERE id = ?", ID));
        assertEquals(1, Sql.update(late, UPDATE, "new, paid", 1L, ID, 1L));
        assertEquals(1, Sql.update(present, UPDATE, "new, packed", 2L, ID, 2L));
        assertEquals("new, packed", state(), "the payment is lost");
    }

    @Test
    void nothingIsWrittenBetweenARaisingReadAndItsUpdate() throws SQLException {
        assertEquals("new", Sql.text(present, RAISE, 2L, ID, 2L));
        assertEquals(0, Sql.update(late, UPDATE, "new, paid", 1L, ID, 1L));
        assertNull(Sql.text(late, RAISE, 1L, ID, 1L));
        assertEquals(1, Sql.update(present, UPDATE, "new, packed", 2L, ID, 2L));
        assertEquals("new, packed", state());
    }

    @Test
    void anUpsertInsertsOrComparesTheToken() throws SQLException {
        assertEquals(1, Sql.update(present, UPSERT, 43, "present", 2L));
        assertEquals(0, Sql.update(late, UPSERT, 43, "late", 1L));
        assertEquals(1, Sql.update(present, UPSERT, 43, "again", 2L));
        assertEquals("again", Sql.text(present, "SELECT state FROM orders WHERE id = ?", 43));
    }

    @Test
    void wrongDeleteTheRowWithItsToken() throws SQLException {
        assertEquals(1, Sql.update(present, "DELETE FROM orders WHERE id = ? AND fence <= ?", ID, 2L));
        assertEquals(1, Sql.update(late, UPSERT, ID, "late", 1L));
        assertEquals("late", state());
    }

    @Test
    void aTombstoneKeepsTheToken() throws SQLException {
        assertEquals(1, Sql.update(present, TOMBSTONE, 2L, ID, 2L));
        assertEquals(0, Sql.update(late, UPSERT, ID, "late", 1L));
        assertEquals(0, Sql.update(late, TOMBSTONE, 1L, ID, 1L));
        assertNull(state());
        assertEquals(1, Sql.update(present, UPSERT, ID, "present", 3L));
    }

    @Test
    void aGuardRowProtectsTheOtherTables() throws Exception {
        late.setAutoCommit(false);
        assertEquals(1, Sql.update(late, GUARD, "orders/42", 1L));
        Future<Integer> waiting = whileItWaits(() -> replaceItems(present, 2, "present"));
        Sql.update(late, "INSERT INTO items VALUES (?, 'late')", ID);
        late.commit();
        assertEquals(1, waiting.get());
        assertEquals(0, replaceItems(late, 1, "too late"));
        assertEquals("present", Sql.text(present, "SELECT string_agg(name, ',') FROM items WHERE order_id = ?", ID));
    }

    private static int replaceItems(Connection connection, long token, String name) throws SQLException {
        connection.setAutoCommit(false);
        int count = Sql.update(connection, GUARD, "orders/42", token);
        if (count == 0) {
            connection.rollback();
        } else {
            Sql.update(connection, "DELETE FROM items WHERE order_id = ?", ID);
            Sql.update(connection, "INSERT INTO items VALUES (?, ?)", ID, name);
            connection.commit();
        }
        return count;
    }

    @Test
    void wrongGuardInATransactionOfItsOwn() throws SQLException {
        assertEquals(1, Sql.update(late, GUARD, "orders/42", 1L));
        assertEquals(1, replaceItems(present, 2, "present"));
        Sql.update(late, "INSERT INTO items VALUES (?, 'late')", ID);
        assertEquals("present,late", Sql.text(late, "SELECT string_agg(name, ',') FROM items WHERE order_id = ?", ID));
    }

    @Test
    void theServerEndsATransactionThatPauses() throws Exception {
        Sql.update(late, LIMIT.replace("5s", "200ms"));
        late.setAutoCommit(false);
        assertEquals(1, Sql.update(late, GUARD, "orders/42", 1L));
        assertEquals(1, replaceItems(present, 2, "present"));
        assertThrows(SQLException.class, () -> Sql.update(late, "INSERT INTO items VALUES (?, 'late')", ID));
        assertEquals("present", Sql.text(present, "SELECT string_agg(name, ',') FROM items WHERE order_id = ?", ID));
    }

    /** The statement, which the database has begun and which waits for a lock. */
    private static Future<Integer> whileItWaits(Callable<Integer> statement) throws Exception {
        Future<Integer> result = threads.submit(statement);
        long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        try (Connection observer = postgres.connect()) {
            String waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
            while (Sql.text(observer, waiting).equals("0")) {
                assertTrue(deadlineNs - System.nanoTime() > 0, "nothing waits for a lock");
                new CountDownLatch(1).await(2, TimeUnit.MILLISECONDS);
            }
        }
        return result;
    }

    private String state() throws SQLException {
        return Sql.text(present, "SELECT state FROM orders WHERE id = ?", ID);
    }
}
