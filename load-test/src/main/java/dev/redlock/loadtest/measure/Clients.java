package dev.redlock.loadtest.measure;

import dev.redlock.loadtest.driver.LockSession;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The open sessions of one driver.
 *
 * @threading caller-confined
 */
public final class Clients implements AutoCloseable {
    private final List<LockSession> sessions = new ArrayList<>();

    public void add(LockSession session) {
        sessions.add(session);
    }

    public List<LockSession> sessions() {
        return sessions;
    }

    /** The clients' own counters, summed. */
    public Map<String, Long> counters() {
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
