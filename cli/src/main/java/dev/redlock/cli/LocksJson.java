package dev.redlock.cli;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Locks as JSON for other programs. Times are milliseconds; -1 is never.
 *
 * <pre>
 * quorum
 * isCut        whether the limit left locks out (list only)
 * deniedCount  keys that are left out because the user may not read them (list only)
 * nodes        [{address, problem: null | text}]
 * locks        [{
 *   key
 *   values     [{id, holder: null | text, state: "HELD" | "UNCLEAR" | "NO_QUORUM", mayBeRetained, nodeCount,
 *                remainingMs, value (hexadecimal, with --values only)}]
 *   nodes      [{address, answered, id: null | text, ttlMs, fence: null | text, problem: null | text}]
 *   notes      [sentences for people]
 * }]
 * permits      [like locks: those that are held, of a semaphore with the name (show only)]
 * </pre>
 *
 * @threading any thread
 */
final class LocksJson {

    private LocksJson() {
    }

    static Map<String, Object> root(LockNodes nodes) {
        Map<String, Object> root = new LinkedHashMap<>();
        root.put("quorum", nodes.quorum());
        root.put("nodes", nodes.nodes().stream().map(LocksJson::problemOf).toList());
        return root;
    }

    private static Map<String, Object> problemOf(LockNode node) {
        Map<String, Object> object = new LinkedHashMap<>();
        object.put("address", node.address().toString());
        object.put("problem", node.problem());
        return object;
    }

    static List<Map<String, Object>> locks(LockNodes nodes, List<LockView> views, boolean areValuesShown) {
        return views.stream().map(view -> lock(view, nodes, areValuesShown)).toList();
    }

    private static Map<String, Object> lock(LockView view, LockNodes nodes, boolean areValuesShown) {
        Map<String, Object> lock = new LinkedHashMap<>();
        lock.put("key", new String(view.name().getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8));
        lock.put("values", values(view, areValuesShown));
        List<Map<String, Object>> readings = new ArrayList<>();
        for (int i = 0; i < view.readings().size(); i++) {
            readings.add(reading(nodes.nodes().get(i), view.readings().get(i)));
        }
        lock.put("nodes", readings);
        lock.put("notes", view.notes());
        return lock;
    }

    private static List<Map<String, Object>> values(LockView view, boolean areValuesShown) {
        List<Map<String, Object>> values = new ArrayList<>();
        view.holders().forEach((value, held) -> {
            Map<String, Object> object = new LinkedHashMap<>();
            object.put("id", value.id());
            object.put("holder", value.holder());
            object.put("state", view.stateOf(value).name());
            object.put("mayBeRetained", view.mayBeRetained(value));
            object.put("nodeCount", held.size());
            object.put("remainingMs", view.remainingMs(value));
            if (areValuesShown) {
                object.put("value", value.hex());
            }
            values.add(object);
        });
        return values;
    }

    private static Map<String, Object> reading(LockNode node, KeyReading reading) {
        Map<String, Object> object = new LinkedHashMap<>();
        object.put("address", node.address().toString());
        object.put("answered", reading != null);
        if (reading != null) {
            object.put("id", reading.value() == null ? null : reading.value().id());
            object.put("ttlMs", reading.ttlMs());
            object.put("fence", reading.fence());
            object.put("problem", reading.problem());
        }
        return object;
    }
}
