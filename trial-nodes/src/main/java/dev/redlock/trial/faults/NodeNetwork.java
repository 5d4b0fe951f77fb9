package dev.redlock.trial.faults;

import dev.redlock.trial.nodes.NodePlace;
import dev.redlock.trial.nodes.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A private network for the nodes: a network namespace for the clients and one for each node, each joined by a pair of
 * virtual Ethernet devices. Nothing outside these namespaces is changed. The kernel injects the faults, below TCP.
 * <p>All names derive from a prefix, the only thing that the process outside and the process inside share.
 *
 * @threading caller-confined
 */
public final class NodeNetwork {
    private static final String NODE_DEVICE = "eth0";
    private static final String NARROW_RATE = "32kbit";

    private final String prefix;
    private final int nodes;

    /** Names a network of at most 250 nodes, which may exist already. */
    public NodeNetwork(String prefix, int nodes) {
        this.prefix = prefix;
        this.nodes = nodes;
    }

    /** The reason why this machine or user cannot create a network; empty if namespaces can be created. */
    public static Optional<String> refusal() {
        if (!System.getProperty("os.name").startsWith("Linux")) {
            return Optional
                    .of("network namespaces need Linux, and this is " + System.getProperty("os.name"));
        }
        try {
            if (!Shell.require("id", "-u").equals("0")) {
                return Optional.of("network namespaces need root");
            }
        } catch (IOException e) {
            return Optional.of(e.getMessage());
        }
        for (String tool : List.of("ip", "tc")) {
            try {
                Shell.require(tool, "-V");
            } catch (IOException e) {
                return Optional.of(tool + " is missing (Debian package iproute2)");
            }
        }
        try {
            new NodeNetwork("rl" + ProcessHandle.current().pid() + "p", 1).probe();
            return Optional.empty();
        } catch (IOException e) {
            return Optional.of("namespaces cannot be created here: " + e.getMessage());
        }
    }

    private void probe() throws IOException {
        NetworkGuard guard = NetworkGuard.start(namespaces());
        try {
            make();
            Shell.require(entering(clients(), "true"));
        } finally {
            guard.close();
        }
    }

    /** Creates the namespaces and joins them; stops half way at an error. */
    void make() throws IOException {
        for (String name : namespaces()) {
            Shell.require("ip", "netns", "add", name);
            Shell.require("ip", "-n", name, "link", "set", "lo", "up");
        }
        for (int i = 0; i < nodes; i++) {
            Shell.require("ip", "-n", clients(), "link", "add", device(i), "type", "veth", "peer", "name", NODE_DEVICE,
                    "netns", node(i));
            Shell.require("ip", "-n", clients(), "address", "add", address(i, 1) + "/30", "dev", device(i));
            Shell.require("ip", "-n", node(i), "address", "add", address(i, 2) + "/30", "dev", NODE_DEVICE);
            Shell.require("ip", "-n", clients(), "link", "set", device(i), "up");
            Shell.require("ip", "-n", node(i), "link", "set", NODE_DEVICE, "up");
        }
    }

    /** Lets the nodes reach each other, through the network of the clients, in which the caller runs. */
    public void connectNodes() throws IOException {
        Files.writeString(Path.of("/proc/sys/net/ipv4/ip_forward"), "1");
        for (int i = 0; i < nodes; i++) {
            Shell.require("ip", "-n", node(i), "route", "replace", "default", "via", address(i, 1));
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

    /** A private address, visible in these namespaces only. */
    private static String address(int index, int end) {
        return "10.213." + index + "." + end;
    }

    List<String> entering(String namespace, String... command) {
        List<String> words = new ArrayList<>(List.of("ip", "netns", "exec", namespace));
        words.addAll(List.of(command));
        return words;
    }

    public List<NodePlace> places() {
        List<NodePlace> places = new ArrayList<>();
        for (int i = 0; i < nodes; i++) {
            places.add(new NodePlace(address(i, 2), entering(node(i))));
        }
        return places;
    }

    /** Why this kernel has no netem, which delays, drops and reorders packets; empty if it has. */
    public Optional<String> netemRefusal() {
        try {
            Shell.require("tc", "-n", clients(), "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms");
            Shell.require("tc", "-n", clients(), "qdisc", "del", "dev", "lo", "root");
            return Optional.empty();
        } catch (IOException e) {
            return Optional.of("this kernel has no sch_netem: " + e.getMessage().replace('\n', ' '));
        }
    }

    /** Takes the node's device down: nothing arrives in either direction, without any error. */
    public void cut(int index) throws IOException {
        Shell.require("ip", "-n", node(index), "link", "set", NODE_DEVICE, "down");
    }

    /** Cuts a node off from the other nodes. Clients reach all of them. */
    public void isolate(int index) throws IOException {
        for (int i = 0; i < nodes; i++) {
            if (i != index) {
                drop(index, address(i, 2));
                drop(i, address(index, 2));
            }
        }
    }

    public void loseReplies(int index) throws IOException {
        drop(index, address(index, 1));
    }

    private void drop(int index, String target) throws IOException {
        Shell.require("ip", "-n", node(index), "route", "replace", "blackhole", target + "/32");
    }

    /** Limits the bandwidth in both directions, with a queue before the limit. */
    public void narrow(int index) throws IOException {
        shape(index, List.of("tbf", "rate", NARROW_RATE, "burst", "2000", "latency", "400ms"));
    }

    /** Sets the queueing discipline of {@code tc} in both directions, such as netem with its arguments. */
    public void shape(int index, List<String> discipline) throws IOException {
        for (List<String> end : List.of(List.of(node(index), NODE_DEVICE), List.of(clients(), device(index)))) {
            List<String> words = new ArrayList<>(
                    List.of("tc", "-n", end.get(0), "qdisc", "replace", "dev", end.get(1), "root"));
            words.addAll(discipline);
            Shell.require(words);
        }
    }

    public void heal(int index) throws IOException {
        Shell.require("ip", "-n", node(index), "link", "set", NODE_DEVICE, "up");
        Shell.require("ip", "-n", node(index), "route", "flush", "type", "blackhole");
        for (int i = 0; i < nodes; i++) {
            Shell.require("ip", "-n", node(i), "route", "flush", "type", "blackhole", "exact",
                    address(index, 2) + "/32");
        }
        unshape(node(index), NODE_DEVICE);
        unshape(clients(), device(index));
    }

    private static void unshape(String namespace, String device) throws IOException {
        String shown = Shell.require("tc", "-n", namespace, "qdisc", "show", "dev", device);
        if (shown.contains("netem") || shown.contains("tbf")) {
            Shell.require("tc", "-n", namespace, "qdisc", "del", "dev", device, "root");
        }
    }
}
