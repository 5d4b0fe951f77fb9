package dev.redlock.loadtest;

import dev.redlock.loadtest.driver.LockSession;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Some open sessions of one driver.
 *
 * @threading caller-confined
 */
final class Clients implements AutoCloseable {
    private final List<LockSession> sessions = new ArrayList<>();

    Clients() {
        // Sessions are added as they open, so that those that did are closed when a later one does not.
    }

    void add(LockSession session) {
        sessions.add(session);
    }

    List<LockSession> sessions() {
        return sessions;
    }

    /** The clients' own counters, summed. */
    Map<String, Long> counters() {
        Map<String, Long> sums = new LinkedHashMap<>();
        for (LockSession session : sessions) {
            session.counters().forEach((name, count) -> sums.merge(name, count, Long::sum));
        }
        return sums;
    }

    @Override
    public void close() {
        sessions.forEach(LockSession::close);
    }
}
