package dev.redlock.loadtest.cycle;

import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/**
 * The nodes of a client that lost votes since the last call.
 *
 * @threading caller-confined
 */
final class LostVotes implements Supplier<List<String>> {
    private final Redlock redlock;
    private final long[] before;

    LostVotes(Redlock redlock) {
        this.redlock = redlock;
        this.before = new long[redlock.nodes().size()];
    }

    @Override
    public List<String> get() {
        List<String> problems = new ArrayList<>();
        for (int i = 0; i < before.length; i++) {
            NodeStatus node = redlock.nodes().get(i);
            long lost = node.refusedCount() + node.errorCount() + node.disconnectCount() - before[i];
            before[i] += lost;
            if (lost > 0) {
                problems.add(node.address() + ": " + lost + " votes were lost: " + node);
            }
        }
        return problems;
    }
}
