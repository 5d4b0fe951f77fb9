package dev.redlock.loadtest.history;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The history of one resource as EDN, one operation map per line and in the order of time. It holds the lines of that
 * resource in memory, and no others.
 *
 * @threading caller-confined
 */
final class EdnHistory {
    /**
     * The models of which a history is exported. Both are models of Knossos.
     *
     * @threading immutable
     */
    enum Model {
        /** Acquires and releases of plain locks and writers. The end of a lease has a process of its own. */
        MUTEX,
        /** Accepted writes and reads of the register. */
        REGISTER
    }

    private final Model model;
    private final List<Event> events = new ArrayList<>();
    private final Map<Integer, Held> held = new HashMap<>();
    private int lastProcess;

    /** @threading immutable */
    private record Event(long timeNs, int process, HistoryLine.Type type, String name, long value) {
        /** Of equal times, starts come first: the operations are concurrent. */
        boolean isEnd() {
            return type != HistoryLine.Type.INVOKE;
        }
    }

    /**
     * A lease, and its end as far as it is known.
     *
     * @threading caller-confined
     */
    private static final class Held {
        private final long token;
        private long untilNs;
        private long invokedNs;

        Held(HistoryLine granted) {
            this.token = granted.token();
            this.untilNs = granted.untilNs();
        }
    }

    private EdnHistory(Model model) {
        this.model = model;
    }

    /** Reads the operations of one resource; none if no operation of the resource is part of the model. */
    static EdnHistory read(Path file, String resource, Model model) throws IOException {
        EdnHistory history = new EdnHistory(model);
        history.lastProcess = greatestProcess(file);
        List<HistoryLine> lines;
        try (Stream<HistoryLine> all = HistoryFile.lines(file)) {
            lines = all.filter(line -> line.resources().contains(resource))
                    .sorted(Comparator.comparingLong(HistoryLine::timeNs))
                    .toList();
        }
        lines.forEach(history::add);
        history.held.values().forEach(lease -> history.end(lease, lease.untilNs, lease.untilNs));
        history.events.sort(Comparator.comparingLong(Event::timeNs).thenComparing(Event::isEnd));
        return history;
    }

    private static int greatestProcess(Path file) throws IOException {
        try (Stream<HistoryLine> all = HistoryFile.lines(file)) {
            return all.mapToInt(HistoryLine::process).max().orElse(0);
        }
    }

    private void add(HistoryLine line) {
        boolean isOfRegister = line.operation() == HistoryLine.Operation.READ
                || line.operation() == HistoryLine.Operation.WRITE;
        if (isOfRegister != (model == Model.REGISTER)) {
            return;
        }
        if (isOfRegister) {
            events.add(event(line));
        } else if (line.kind() == HistoryLine.Kind.PLAIN || line.kind() == HistoryLine.Kind.WRITER) {
            addExclusive(line);
        }
    }

    private static Event event(HistoryLine line) {
        return new Event(line.timeNs(), line.process(), line.type(),
                line.operation().name().toLowerCase(Locale.ROOT), line.token());
    }

    private void addExclusive(HistoryLine line) {
        Held lease = held.get(line.process());
        switch (line.operation()) {
            case ACQUIRE -> {
                events.add(event(line));
                if (line.type() == HistoryLine.Type.OK) {
                    held.put(line.process(), new Held(line));
                }
            }
            case EXTEND -> extend(lease, line);
            default -> release(lease, line);
        }
    }

    private static void extend(Held lease, HistoryLine line) {
        if (lease != null && line.isInvoke()) {
            lease.invokedNs = line.timeNs();
        } else if (lease != null) {
            // An extension that succeeded shows that the lock was held when it was requested.
            long heldNs = line.type() == HistoryLine.Type.OK ? lease.invokedNs : 0;
            lease.untilNs = Math.max(heldNs, line.untilNs() == 0 ? lease.untilNs : line.untilNs());
        }
    }

    private void release(Held lease, HistoryLine line) {
        if (lease == null) {
            if (line.type() == HistoryLine.Type.OK) {
                // Exported as it is, so that a checker rejects it.
                add(line.timeNs(), line.timeNs(), line.token());
            }
        } else if (line.isInvoke()) {
            lease.invokedNs = line.timeNs();
            lease.untilNs = line.untilNs() == 0 ? lease.untilNs : Math.min(lease.untilNs, line.untilNs());
        } else {
            held.remove(line.process());
            // A release that succeeded shows that the lock was held when it was requested.
            long endNs = line.type() == HistoryLine.Type.OK
                    ? lease.invokedNs
                    : Math.min(lease.invokedNs, lease.untilNs);
            end(lease, endNs, line.timeNs());
        }
    }

    private void end(Held lease, long fromNs, long toNs) {
        add(fromNs, toNs, lease.token);
    }

    /** The end of a lease may coincide with a call of its process, so it has a process of its own. */
    private void add(long fromNs, long toNs, long token) {
        lastProcess++;
        String name = HistoryLine.Operation.RELEASE.name().toLowerCase(Locale.ROOT);
        events.add(new Event(fromNs, lastProcess, HistoryLine.Type.INVOKE, name, token));
        events.add(new Event(toNs, lastProcess, HistoryLine.Type.OK, name, token));
    }

    boolean isEmpty() {
        return events.isEmpty();
    }

    void write(Path file) throws IOException {
        try (BufferedWriter out = Files.newBufferedWriter(file)) {
            for (int i = 0; i < events.size(); i++) {
                Event event = events.get(i);
                out.write("{:index " + i + ", :time " + event.timeNs + ", :process " + event.process + ", :type :"
                        + event.type.name().toLowerCase(Locale.ROOT) + ", :f :" + event.name + ", :value "
                        + (event.value == 0 ? "nil" : event.value) + "}\n");
            }
        }
    }
}
