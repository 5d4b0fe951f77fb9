package dev.redlock.loadtest.nodes;

import java.util.List;

/**
 * Where a node that is started here listens, and how its process gets there.
 *
 * @param host   the address it listens on
 * @param prefix the words before its command line that put it there, such as {@code ip netns exec NAME}; may be empty.
 *               They must become the server, so that its process id is theirs.
 * @threading immutable
 */
public record NodePlace(String host, List<String> prefix) {
    /** This machine's loopback. */
    public static final NodePlace LOOPBACK = new NodePlace("127.0.0.1", List.of());

    /** Copies the list. */
    public NodePlace {
        prefix = List.copyOf(prefix);
    }
}
