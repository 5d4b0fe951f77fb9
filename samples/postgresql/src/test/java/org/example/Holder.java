package org.example;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.RestartGuardMode;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;

/**
 * A process that increments a counter under a lock, until its input ends. Its first line of input has the password of
 * the database; its output, a line for each grant.
 */
final class Holder {

    private static final int ID = 42;
    private static final String RAISE = Sql.shown("RETURNING state");
    private static final String UPDATE = Sql.shown("SET state = ?, fence = ? WHERE id = ? AND fence <= ?");
    private static final String UNGUARDED = "UPDATE orders SET state = ?, fence = ? WHERE id = ?";

    private Holder() {
    }

    /** Arguments: whether the statements compare the token, the database, the nodes. */
    public static void main(String[] args) throws Exception {
        boolean isFenced = Boolean.parseBoolean(args[0]);
        String password = new String(System.in.readNBytes(36));
        Thread end = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                    continue;
                }
            } catch (java.io.IOException e) {
                // The end of the input too.
            }
            Runtime.getRuntime().halt(0);
        });
        end.setDaemon(true);
        end.start();
        String[] nodes = Arrays.copyOfRange(args, 2, args.length);
        RedlockContext context = new RedlockContext().nodes(nodes)
                .restartGuard(RestartGuardMode.OFF)
                .nodeTimeout(Duration.ofSeconds(1));
        try (Redlock redlock = Redlock.connect(context); Connection database = Postgres.connect(args[1], password)) {
            AcquireOptions options = AcquireOptions.ofTtl(Duration.ofMillis(300))
                    .waitUpTo(Duration.ofSeconds(2))
                    .fenced();
            while (true) {
                AcquireOutcome outcome = redlock.acquire("orders/42", options);
                if (outcome.isAcquired()) {
                    try (Lease lease = outcome.lease()) {
                        System.out.println("granted");
                        increment(database, lease, isFenced);
                    }
                }
            }
        }
    }

    private static void increment(Connection database, Lease lease, boolean isFenced) throws SQLException {
        long token = lease.fencingToken();
        String count = isFenced
                ? Sql.text(database, RAISE, token, ID, token)
                : Sql.text(database, "SELECT state FROM orders WHERE id = ?", ID);
        if (count == null || !lease.isHeld()) {
            return;
        }
        for (int i = 0; i < 20; i++) {
            Sql.text(database, "SELECT count(*) FROM writes");
        }
        String next = Long.toString(Long.parseLong(count) + 1);
        if (isFenced) {
            Sql.update(database, UPDATE, next, token, ID, token);
        } else {
            Sql.update(database, UNGUARDED, next, token, ID);
        }
    }
}
