package dev.redlock.loadtest.measure;

import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.driver.LockSession;
import dev.redlock.loadtest.driver.SessionSpec;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** @threading caller-confined */
public final class Clients implements AutoCloseable {
    private final List<LockSession> sessions = new ArrayList<>();

    /** Opens clients one by one; a failure to open one closes those before it. */
    public static Clients open(LockDriver driver, SessionSpec spec, int count)
            throws IOException, InterruptedException {
        Clients clients = new Clients();
        try {
            for (int i = 0; i < count; i++) {
                clients.sessions.add(driver.open(spec));
            }
            return clients;
        } catch (IOException | InterruptedException | RuntimeException e) {
            clients.close();
            throw e;
        }
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

    public Map<String, Long> countersSince(Map<String, Long> before) {
        Map<String, Long> counters = counters();
        before.forEach((name, count) -> counters.merge(name, -count, Long::sum));
        return counters;
    }

    @Override
    public void close() {
        sessions.forEach(LockSession::close);
    }
}
