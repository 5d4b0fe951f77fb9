package dev.redlock.node.cluster;

import dev.redlock.node.send.KeySlot;
import dev.redlock.resp.RespType;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.SafeText;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The masters of a cluster and the slots that they own, as one server reports them with {@code CLUSTER SLOTS}. Every
 * version of a cluster has this command, and replies with the port that the connection's kind of encryption needs.
 *
 * @threading immutable
 */
final class SlotMap {

    /**
     * A master of the cluster.
     *
     * @param host its host; null if it is that of the server that replied
     * @threading immutable
     */
    record Master(String id, String host, int port) {
    }

    /** No known owner. */
    static final short NONE = -1;
    /** A cluster has at most 1000 nodes by its specification. */
    static final int MASTERS_MAX = 1_024;

    private static final int PORT_MAX = 65_535;
    private static final int ID_LENGTH_MAX = 64;
    private static final int HOST_LENGTH_MAX = 255;
    private static final int SHOWN_LENGTH_MAX = 64;
    private static final Pattern HOST = Pattern.compile("[0-9A-Za-z._:-]*");
    private static final Pattern ID = Pattern.compile("[0-9A-Za-z]+");

    private final List<Master> masters = new ArrayList<>();
    private final Map<String, Short> indexes = new HashMap<>();
    private final short[] owners = new short[KeySlot.COUNT];
    private final Set<String> nodeIds = new HashSet<>();

    private SlotMap() {
        Arrays.fill(owners, NONE);
    }

    /**
     * Parses the reply to {@code CLUSTER SLOTS}.
     *
     * @throws IllegalArgumentException with the reason, if the reply has another form
     */
    static SlotMap parse(RespValue reply) {
        SlotMap map = new SlotMap();
        for (RespValue range : elementsOf(reply, "the reply")) {
            map.add(elementsOf(range, "a range"));
        }
        return map;
    }

    private void add(List<RespValue> range) {
        if (range.size() < 3) {
            throw new IllegalArgumentException("a range of slots has no master");
        }
        int first = numberOf(range.get(0), 0, KeySlot.COUNT - 1, "a slot");
        int last = numberOf(range.get(1), first, KeySlot.COUNT - 1, "the end of a range");
        short master = indexOf(masterOf(elementsOf(range.get(2), "a master")));
        for (int i = 3; i < range.size(); i++) {
            nodeIds.add(idOf(elementsOf(range.get(i), "a replica")));
        }
        for (int slot = first; slot <= last; slot++) {
            if (owners[slot] != NONE) {
                throw new IllegalArgumentException("slot " + slot + " has two masters");
            }
            owners[slot] = master;
        }
    }

    private short indexOf(Master master) {
        Short known = indexes.get(master.id());
        if (known != null) {
            if (!masters.get(known).equals(master)) {
                throw new IllegalArgumentException("master " + master.id() + " has two addresses");
            }
            return known;
        }
        if (masters.size() == MASTERS_MAX) {
            throw new IllegalArgumentException("more than " + MASTERS_MAX + " masters");
        }
        short index = (short) masters.size();
        masters.add(master);
        indexes.put(master.id(), index);
        nodeIds.add(master.id());
        return index;
    }

    private static Master masterOf(List<RespValue> node) {
        String id = idOf(node);
        return new Master(id, hostOf(node.get(0)), numberOf(node.get(1), 1, PORT_MAX, "a port"));
    }

    /** A server that does not know its own address leaves the host empty. */
    private static String hostOf(RespValue host) {
        if (host.isNull()) {
            return null;
        }
        String text = textOf(host, "a host");
        if (text.length() > HOST_LENGTH_MAX || !HOST.matcher(text).matches()) {
            throw new IllegalArgumentException("a master has no usable host: \""
                    + SafeText.of(text, SHOWN_LENGTH_MAX) + "\"");
        }
        return text.isEmpty() ? null : text;
    }

    private static String idOf(List<RespValue> node) {
        if (node.size() < 3) {
            throw new IllegalArgumentException("a node has no id, which servers have sent since version 4");
        }
        String id = textOf(node.get(2), "a node id");
        if (id.isEmpty() || id.length() > ID_LENGTH_MAX || !ID.matcher(id).matches()) {
            throw new IllegalArgumentException("a node id is malformed");
        }
        return id;
    }

    private static List<RespValue> elementsOf(RespValue value, String what) {
        if (value.isNull() || value.type() != RespType.ARRAY) {
            throw new IllegalArgumentException(what + " is no array");
        }
        return value.elements();
    }

    private static int numberOf(RespValue value, int min, int max, String what) {
        if (value.type() != RespType.INTEGER || value.asLong() < min || value.asLong() > max) {
            throw new IllegalArgumentException(what + " is no number from " + min + " to " + max);
        }
        return (int) value.asLong();
    }

    private static String textOf(RespValue value, String what) {
        if (value.isNull() || value.type() != RespType.BULK_STRING && value.type() != RespType.SIMPLE_STRING) {
            throw new IllegalArgumentException(what + " is no text");
        }
        return value.asText();
    }

    /** The masters that own slots. */
    List<Master> masters() {
        return masters;
    }

    /** The index of the master that owns a slot; {@link #NONE} if none does. */
    int ownerOf(int slot) {
        return owners[slot];
    }

    /** How many slots have no master. */
    int unownedCount() {
        int count = 0;
        for (short owner : owners) {
            count += owner == NONE ? 1 : 0;
        }
        return count;
    }

    /** Whether both maps give a slot to the same master. */
    boolean hasSameOwner(SlotMap other, int slot) {
        return owners[slot] != NONE && other.owners[slot] != NONE
                && masters.get(owners[slot]).id().equals(other.masters.get(other.owners[slot]).id());
    }

    /** The ids of all masters and replicas. */
    Set<String> nodeIds() {
        return nodeIds;
    }
}
