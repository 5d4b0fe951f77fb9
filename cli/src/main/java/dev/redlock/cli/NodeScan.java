package dev.redlock.cli;

import dev.redlock.engine.LockValue;
import dev.redlock.engine.key.KeyText;
import dev.redlock.resp.RespValue;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Looks through the keys of one node in steps of bounded cost, again and again.
 *
 * @threading caller-confined
 */
final class NodeScan {

    /** SCANs of a step at most. */
    static final int PAGES_MAX = 5;
    /** A token and a name; a longer value is that of another program. */
    private static final String VALUE_END = "85";
    private static final byte[] START = LockNode.bytes("0");

    private final byte[] pattern;
    private byte[] cursor = START;
    private boolean isComplete;
    /** In the present pass over all keys, and in the last one. */
    private int deniedCount;
    private int deniedBefore;

    NodeScan(String prefix) {
        pattern = LockNode.pattern(prefix);
    }

    /**
     * The finds of a step.
     *
     * @param locks   the names of keys that look like locks
     * @param awaited the names of locks that may have waiters
     * @threading immutable
     */
    record Found(Set<String> locks, Set<String> awaited) {
    }

    /** Whether it has looked at all keys once. */
    boolean isComplete() {
        return isComplete;
    }

    /** The keys that the user may not read, as far as it has looked. */
    int deniedCount() {
        return Math.max(deniedCount, deniedBefore);
    }

    /** The next step, without the locks that are known. */
    Found next(LockNode node, Set<String> known) {
        Found found = new Found(new TreeSet<>(), new TreeSet<>());
        for (int i = 0; i < PAGES_MAX; i++) {
            LockNode.Page page = node.page(pattern, cursor);
            if (page == null) {
                break;
            }
            cursor = page.cursor();
            add(node, page, known, found);
            if (cursor.length == 1 && cursor[0] == '0') {
                isComplete = true;
                deniedBefore = deniedCount;
                deniedCount = 0;
                break;
            }
        }
        return found;
    }

    private void add(LockNode node, LockNode.Page page, Set<String> known, Found found) {
        List<String> unknown = new ArrayList<>();
        for (byte[] bytes : page.names()) {
            String name = LockNode.text(bytes);
            if (WaitReading.isOfWaiter(name)) {
                found.awaited().add(name.substring(0, name.indexOf(":redlock:")));
            } else if (!name.contains(KeyText.COUNTER_MARK) && !known.contains(name)) {
                unknown.add(name);
            }
        }
        found.locks().addAll(locksOf(node, unknown));
    }

    /** The start of a value is enough to leave out the keys of other programs. */
    private List<String> locksOf(LockNode node, List<String> names) {
        List<List<byte[]>> commands = new ArrayList<>();
        for (String name : names) {
            commands.add(WaitReading.words("GETRANGE", name, "0", VALUE_END));
        }
        List<RespValue> values = commands.isEmpty() ? null : node.sendAllOfFound(commands, replies -> replies);
        List<String> locks = new ArrayList<>();
        for (int i = 0; values != null && i < names.size(); i++) {
            RespValue value = values.get(i);
            if (LockNode.isKeyDenied(value)) {
                deniedCount++;
            } else if (value.isError() || LockValue.of(value.asBytes()).isToken()) {
                locks.add(names.get(i));
            }
        }
        return locks;
    }
}
