package dev.redlock.loadtest.locks;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Locks as JSON for other programs. Times are milliseconds; -1 is never.
 *
 * <pre>
 * quorum
 * isCut        whether the limit left locks out (list only)
 * nodes        [{address, problem: null | text}]
 * locks        [{
 *   key
 *   values     [{id, holder: null | text, state: "HELD" | "UNCLEAR" | "NO_QUORUM", nodeCount, remainingMs,
 *                value (hexadecimal, with --values only)}]
 *   nodes      [{address, answered, id: null | text, ttlMs, fence: null | text, problem: null | text}]
 *   notes      [sentences for people]
 * }]
 * </pre>
 *
 * @threading any thread
 */
final class LocksJson {

    private static final ObjectMapper MAPPER = JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build();

    private LocksJson() {
    }

    static ObjectNode root(LockNodes nodes) {
        ObjectNode root = MAPPER.createObjectNode();
        root.put("quorum", nodes.quorum());
        ArrayNode list = root.putArray("nodes");
        for (LockNode node : nodes.nodes()) {
            list.addObject().put("address", node.address().toString()).put("problem", node.problem());
        }
        return root;
    }

    static void addLocks(ObjectNode root, LockNodes nodes, List<LockView> views, boolean areValuesShown) {
        ArrayNode locks = root.putArray("locks");
        for (LockView view : views) {
            ObjectNode lock = locks.addObject();
            lock.put("key", new String(view.name().getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8));
            addValues(lock.putArray("values"), view, areValuesShown);
            addNodes(lock.putArray("nodes"), view, nodes);
            view.notes().forEach(lock.withArray("notes")::add);
        }
    }

    private static void addValues(ArrayNode list, LockView view, boolean areValuesShown) {
        view.holders().forEach((value, held) -> {
            ObjectNode node = list.addObject();
            node.put("id", value.id())
                    .put("holder", value.holder())
                    .put("state", view.stateOf(value).name())
                    .put("nodeCount", held.size())
                    .put("remainingMs", view.remainingMs(value));
            if (areValuesShown) {
                node.put("value", value.hex());
            }
        });
    }

    private static void addNodes(ArrayNode list, LockView view, LockNodes nodes) {
        for (int i = 0; i < view.readings().size(); i++) {
            KeyReading reading = view.readings().get(i);
            ObjectNode node = list.addObject().put("address", nodes.nodes().get(i).address().toString());
            node.put("answered", reading != null);
            if (reading != null) {
                node.put("id", reading.value() == null ? null : reading.value().id())
                        .put("ttlMs", reading.ttlMs())
                        .put("fence", reading.fence())
                        .put("problem", reading.problem());
            }
        }
    }

    static String text(ObjectNode root) {
        return root.toPrettyString();
    }
}
