package dev.redlock.trial.nodes;

import java.util.ArrayList;
import java.util.List;

/**
 * The address of a started node, and the commands that start its process there.
 *
 * @param prefix the words before its command line, such as {@code ip netns exec NAME}; may be empty.
 *               They must {@code exec} the server, so that it has their process id.
 * @threading immutable
 */
public record NodePlace(String host, List<String> prefix) {
    public static final NodePlace LOOPBACK = new NodePlace("127.0.0.1", List.of());

    /** The same place, and further words between the prefix and the command line. */
    NodePlace with(List<String> words) {
        List<String> all = new ArrayList<>(prefix);
        all.addAll(words);
        return new NodePlace(host, all);
    }
}
