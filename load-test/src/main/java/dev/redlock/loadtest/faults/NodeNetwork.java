package dev.redlock.loadtest.faults;

import dev.redlock.loadtest.nodes.NodePlace;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The nodes' own network: a network namespace for the clients and one for each node, joined by a pair of virtual
 * Ethernet devices each. Nothing outside these namespaces is touched, and what is lost here is really lost: by the
 * kernel, below TCP.
 *
 * <p>Names follow from a prefix, so that the process that makes the namespaces and the one that runs inside them need
 * share nothing else.
 *
 * @threading caller-confined
 */
public final class NodeNetwork {
    private static final String NODE_DEVICE = "eth0";
    private static final String NARROW_RATE = "32kbit";

    private final String prefix;
    private final int nodes;

    /**
     * Names a network; it may be there already.
     *
     * @param prefix what its namespaces' names begin with
     * @param nodes  how many nodes, at most 250
     */
    public NodeNetwork(String prefix, int nodes) {
        this.prefix = prefix;
        this.nodes = nodes;
    }

    /**
     * Why this machine or this user cannot have one.
     *
     * @return empty where namespaces can be made
     */
    public static Optional<String> refusal() {
        if (!System.getProperty("os.name").startsWith("Linux")) {
            return Optional
                    .of("network namespaces are a matter of Linux, and this is " + System.getProperty("os.name"));
        }
        try {
            if (!Shell.run("id", "-u").equals("0")) {
                return Optional.of("network namespaces need root");
            }
        } catch (IOException e) {
            return Optional.of(e.getMessage());
        }
        for (String tool : List.of("ip", "tc")) {
            try {
                Shell.run(tool, "-V");
            } catch (IOException e) {
                return Optional.of(tool + " is missing (Debian package iproute2)");
            }
        }
        try {
            new NodeNetwork("rl" + ProcessHandle.current().pid() + "p", 1).probe();
            return Optional.empty();
        } catch (IOException e) {
            return Optional.of("namespaces cannot be made here: " + e.getMessage());
        }
    }

    private void probe() throws IOException {
        NetworkGuard guard = NetworkGuard.start(namespaces());
        try {
            make();
            Shell.run(entering(clients(), "true"));
        } finally {
            guard.close();
        }
    }

    /** Makes the namespaces and joins them; ends half way if something is refused. */
    void make() throws IOException {
        for (String name : namespaces()) {
            Shell.run("ip", "netns", "add", name);
            Shell.run("ip", "-n", name, "link", "set", "lo", "up");
        }
        for (int i = 0; i < nodes; i++) {
            Shell.run("ip", "-n", clients(), "link", "add", device(i), "type", "veth", "peer", "name", NODE_DEVICE,
                    "netns", node(i));
            Shell.run("ip", "-n", clients(), "address", "add", address(i, 1) + "/30", "dev", device(i));
            Shell.run("ip", "-n", node(i), "address", "add", address(i, 2) + "/30", "dev", NODE_DEVICE);
            Shell.run("ip", "-n", clients(), "link", "set", device(i), "up");
            Shell.run("ip", "-n", node(i), "link", "set", NODE_DEVICE, "up");
        }
    }

    List<String> namespaces() {
        List<String> names = new ArrayList<>(List.of(clients()));
        for (int i = 0; i < nodes; i++) {
            names.add(node(i));
        }
        return names;
    }

    String clients() {
        return prefix + "-c";
    }

    private String node(int index) {
        return prefix + "-" + index;
    }

    private static String device(int index) {
        return "n" + index;
    }

    /** Private addresses, seen in these namespaces only. */
    private static String address(int index, int end) {
        return "10.213." + index + "." + end;
    }

    List<String> entering(String namespace, String... command) {
        List<String> words = new ArrayList<>(List.of("ip", "netns", "exec", namespace));
        words.addAll(List.of(command));
        return words;
    }

    /**
     * Where the nodes are to be started.
     *
     * @return by index
     */
    public List<NodePlace> places() {
        List<NodePlace> places = new ArrayList<>();
        for (int i = 0; i < nodes; i++) {
            places.add(new NodePlace(address(i, 2), entering(node(i))));
        }
        return places;
    }

    /**
     * Whether this kernel has netem, which delays, drops and reorders packets.
     *
     * @return empty if it has, else why not
     */
    public Optional<String> netemRefusal() {
        try {
            Shell.run("tc", "-n", clients(), "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms");
            Shell.run("tc", "-n", clients(), "qdisc", "del", "dev", "lo", "root");
            return Optional.empty();
        } catch (IOException e) {
            return Optional.of("this kernel has no sch_netem: " + e.getMessage().replace('\n', ' '));
        }
    }

    // ---- faults -----------------------------------------------------------------------------------------------------

    /**
     * Takes the node's device down: nothing arrives either way, and nobody is told.
     *
     * @param index of the node
     * @throws IOException if the kernel refuses
     */
    public void cut(int index) throws IOException {
        Shell.run("ip", "-n", node(index), "link", "set", NODE_DEVICE, "down");
    }

    /**
     * Lets requests arrive and loses what the node answers.
     *
     * @param index of the node
     * @throws IOException if the kernel refuses
     */
    public void loseReplies(int index) throws IOException {
        Shell.run("ip", "-n", node(index), "route", "replace", "blackhole", address(index, 1) + "/32");
    }

    /**
     * Leaves a narrow path in both directions, with a queue in front of it.
     *
     * @param index of the node
     * @throws IOException if the kernel refuses
     */
    public void narrow(int index) throws IOException {
        shape(index, List.of("tbf", "rate", NARROW_RATE, "burst", "2000", "latency", "400ms"));
    }

    /**
     * Delays, drops or reorders packets in both directions.
     *
     * @param index of the node
     * @param netem the words behind {@code netem}
     * @throws IOException if the kernel refuses
     */
    public void netem(int index, List<String> netem) throws IOException {
        List<String> words = new ArrayList<>(List.of("netem"));
        words.addAll(netem);
        shape(index, words);
    }

    private void shape(int index, List<String> discipline) throws IOException {
        for (List<String> end : List.of(List.of(node(index), NODE_DEVICE), List.of(clients(), device(index)))) {
            List<String> words = new ArrayList<>(
                    List.of("tc", "-n", end.get(0), "qdisc", "replace", "dev", end.get(1), "root"));
            words.addAll(discipline);
            Shell.run(words);
        }
    }

    /**
     * Ends every fault of a node's network.
     *
     * @param index of the node
     * @throws IOException if the kernel refuses
     */
    public void heal(int index) throws IOException {
        Shell.run("ip", "-n", node(index), "link", "set", NODE_DEVICE, "up");
        if (!Shell.run("ip", "-n", node(index), "route", "show", "type", "blackhole").isEmpty()) {
            Shell.run("ip", "-n", node(index), "route", "del", "blackhole", address(index, 1) + "/32");
        }
        unshape(node(index), NODE_DEVICE);
        unshape(clients(), device(index));
    }

    private static void unshape(String namespace, String device) throws IOException {
        String shown = Shell.run("tc", "-n", namespace, "qdisc", "show", "dev", device);
        if (shown.contains("netem") || shown.contains("tbf")) {
            Shell.run("tc", "-n", namespace, "qdisc", "del", "dev", device, "root");
        }
    }
}
