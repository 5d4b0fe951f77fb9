package dev.redlock.trial.nodes;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The processor cores on which started servers run. Without a pin, the kernel moves the client and a server between one
 * core and two, and the latency of a round trip changes several times over.
 *
 * @threading immutable
 */
public final class CorePin {
    /** All cores of this process but its first one, if the system has {@code taskset} and more than one core. */
    public static final CorePin AUTO = new CorePin("auto");
    /** The kernel chooses. */
    public static final CorePin NONE = new CorePin("none");

    private static final Pattern LIST = Pattern.compile("\\d{1,4}(-\\d{1,4})?(,\\d{1,4}(-\\d{1,4})?)*");
    private static final Path STATUS = Path.of("/proc/self/status");
    private static final String ALLOWED = "Cpus_allowed_list:";

    private final String text;

    private CorePin(String text) {
        this.text = text;
    }

    /** {@code auto}, {@code none}, or numbers and ranges such as {@code 2-5,7}; throws IllegalArgumentException. */
    public static CorePin parse(String text) {
        return switch (text) {
            case "auto" -> AUTO;
            case "none" -> NONE;
            default -> {
                if (!LIST.matcher(text).matches()) {
                    throw new IllegalArgumentException(
                            "'" + text + "': expected auto, none, or cores such as 1 or 2-5,7");
                }
                yield new CorePin(text);
            }
        };
    }

    /** Chooses the cores on this machine; throws NodesUnavailableException if the named ones cannot be used. */
    Choice choose() {
        if (this == NONE) {
            return Choice.free("");
        }
        if (this == AUTO) {
            return chosen(cores(allowed()));
        }
        String refusal = refusal(text);
        if (!refusal.isEmpty()) {
            throw new NodesUnavailableException("--pin " + text + ": " + refusal + "; name other cores, or none");
        }
        return Choice.on(text);
    }

    private static Choice chosen(Set<Integer> allowed) {
        if (allowed.isEmpty()) {
            return Choice.free("this system does not list the cores of a process");
        }
        if (allowed.size() == 1) {
            return Choice.free("there is one core only");
        }
        String others = allowed.stream().skip(1).map(String::valueOf).collect(Collectors.joining(","));
        String refusal = refusal(others);
        return refusal.isEmpty() ? Choice.on(others) : Choice.free(refusal);
    }

    /** Why {@code taskset} of util-linux cannot start a program on these cores; empty if it can. */
    private static String refusal(String cores) {
        try {
            Shell.Ended ended = Shell.run(List.of("taskset", "-c", cores, "true"));
            return ended.code() == 0 ? "" : ended.said();
        } catch (IOException e) {
            return "taskset is missing (package util-linux)";
        }
    }

    private static String allowed() {
        try (Stream<String> lines = Files.isReadable(STATUS) ? Files.lines(STATUS) : Stream.of()) {
            return lines.filter(line -> line.startsWith(ALLOWED))
                    .map(line -> line.substring(ALLOWED.length()).trim())
                    .findFirst()
                    .orElse("");
        } catch (IOException e) {
            return "";
        }
    }

    /** The numbers of a list, ascending. */
    static Set<Integer> cores(String list) {
        Set<Integer> cores = new TreeSet<>();
        for (String part : LIST.matcher(list).matches() ? list.split(",") : new String[0]) {
            int dash = part.indexOf('-');
            int first = Integer.parseInt(dash < 0 ? part : part.substring(0, dash));
            int last = Integer.parseInt(part.substring(dash + 1));
            for (int core = first; core <= last; core++) {
                cores.add(core);
            }
        }
        return cores;
    }

    @Override
    public String toString() {
        return text;
    }

    /**
     * The result on this machine.
     *
     * @param cores  the cores as {@code taskset} takes them; empty if the kernel chooses
     * @param reason why the kernel chooses although a pin was asked for; empty if none was
     * @threading immutable
     */
    record Choice(String cores, String reason) {
        static Choice on(String cores) {
            return new Choice(cores, "");
        }

        static Choice free(String reason) {
            return new Choice("", reason);
        }

        /** The engine starts the processes of containers. */
        Choice inContainer() {
            return isPinned() ? free("the engine chooses the cores of containers") : this;
        }

        boolean isPinned() {
            return !cores.isEmpty();
        }

        /** The words that start a process on these cores; it keeps the process id. */
        List<String> prefix() {
            return isPinned() ? List.of("taskset", "-c", cores) : List.of();
        }

        /** Words for the line that names the nodes. */
        String words() {
            if (isPinned()) {
                return ", pinned to " + (cores.matches("\\d+") ? "core " : "cores ") + cores;
            }
            return reason.isEmpty() ? "" : ", not pinned to cores: " + reason;
        }
    }
}
