package dev.redlock.cli;

import java.io.File;
import java.io.IOException;
import java.time.LocalTime;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.TimeUnit;

/**
 * The terminal and the clock of {@code locks top}. Replaced by tests.
 *
 * @threading caller-confined
 */
class TopScreen {

    /** That of a terminal that does not tell. */
    static final Size USUAL = new Size(80, 24);
    private static final File TERMINAL = new File("/dev/tty");

    /**
     * The size of a terminal.
     *
     * @param columns characters of a line
     * @param lines   lines
     * @threading immutable
     */
    record Size(int columns, int lines) {
    }

    boolean isTerminal() {
        return Terminals.isInteractive() && !"dumb".equals(System.getenv("TERM"));
    }

    String time() {
        // Without a nanosecond, the text of a full minute has no seconds.
        return LocalTime.now().truncatedTo(ChronoUnit.SECONDS).plusNanos(1).toString().substring(0, 8);
    }

    /** The size now: a person may change it. The JDK does not know it. */
    Size size() {
        try {
            Process stty = new ProcessBuilder("stty", "size").redirectInput(TERMINAL)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            String[] numbers = new String(stty.getInputStream().readAllBytes()).strip().split(" ");
            int lines = Integer.parseInt(numbers[0]);
            int columns = Integer.parseInt(numbers[1]);
            return lines > 0 && columns > 0 ? new Size(columns, lines) : USUAL;
        } catch (IOException | RuntimeException e) {
            return USUAL;
        }
    }

    /** Waits between two refreshes. */
    void pause() throws InterruptedException {
        TimeUnit.SECONDS.sleep(1);
    }
}
