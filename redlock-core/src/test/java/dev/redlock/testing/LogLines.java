package dev.redlock.testing;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** Collects log lines of a level and above while it is open, and keeps them off the console. */
public final class LogLines extends Handler implements AutoCloseable {

    private static final Logger LOG = Logger.getLogger("dev.redlock");

    private final SimpleFormatter formatter = new SimpleFormatter();
    /** One list, because several threads may log at the same time. */
    private final List<Line> lines = new CopyOnWriteArrayList<>();
    private final Level levelBefore = LOG.getLevel();
    private final boolean wasOnConsole = LOG.getUseParentHandlers();

    private record Line(Level level, String text) {
    }

    public LogLines() {
        this(Level.INFO);
    }

    public LogLines(Level level) {
        LOG.setUseParentHandlers(false);
        LOG.setLevel(level);
        LOG.addHandler(this);
    }

    /** @return lines so far that contain a text, oldest first */
    public List<String> with(String text) {
        return lines.stream().map(Line::text).filter(line -> line.contains(text)).toList();
    }

    /** @return lines so far of a level that contain a text, oldest first */
    public List<String> with(Level level, String text) {
        return lines.stream()
                .filter(line -> line.level() == level && line.text().contains(text))
                .map(Line::text)
                .toList();
    }

    @Override
    public void publish(LogRecord record) {
        lines.add(new Line(record.getLevel(), formatter.formatMessage(record)));
    }

    @Override
    public void flush() {
        // Nothing is buffered.
    }

    @Override
    public void close() {
        LOG.removeHandler(this);
        LOG.setLevel(levelBefore);
        LOG.setUseParentHandlers(wasOnConsole);
    }
}
