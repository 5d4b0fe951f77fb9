package dev.redlock.transport;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * Decides to which servers of one voter the client connects, and so to which it sends its credentials. The map of a
 * cluster is an introduction by one of its servers and no authority, and so is the answer of a Sentinel. The configured
 * servers of a cluster, and the Sentinels, are seeds.
 *
 * <p>Hosts of seeds are always allowed. By default others are allowed
 * <ul>
 * <li>in private networks;
 * <li>at an IP address of a seed, and on loopback if a seed is there;
 * <li>in the domain of a seed: {@code *.prod.example.com} beside {@code redis-1.prod.example.com}.
 * </ul>
 *
 * <p>A port below 1024 has to be that of a seed. The check comes after the look-up, with the address that the client
 * connects to, so a name cannot lead elsewhere.
 *
 * @threading event-loop-confined
 */
public final class ClusterServers {

    private static final int PORT_MIN = 1024;
    /** A name may lead to other addresses again and again. */
    private static final int SEED_ADDRESSES_MAX = 1_024;

    private final String introduction;
    private final ServerRules rules;
    private final Set<String> seedHosts = new HashSet<>();
    private final Set<String> seedDomains = new HashSet<>();
    private final Set<Integer> seedPorts = new HashSet<>();
    /** The addresses that were looked up so far. */
    private final Set<InetAddress> seedAddresses = new HashSet<>();

    /**
     * The servers beside some seeds.
     *
     * @param introduction begins the texts of refusals: what names the servers
     */
    public ClusterServers(String introduction, ServerRules rules, List<NodeAddress> seeds) {
        this.introduction = introduction;
        this.rules = rules;
        for (NodeAddress seed : seeds) {
            String host = seed.host().toLowerCase(Locale.ROOT);
            seedHosts.add(host);
            seedPorts.add(seed.port());
            int dot = host.indexOf('.');
            // A domain of one label would be a whole top-level domain.
            if (!seed.isIpAddress() && dot > 0 && host.indexOf('.', dot + 1) > 0) {
                seedDomains.add(host.substring(dot));
            }
        }
    }

    /**
     * The reason why the client must not connect to a server.
     *
     * @return the reason and the fix; null if it may connect
     */
    public String refusal(NodeAddress server, SocketAddress found) {
        InetAddress address = found instanceof InetSocketAddress inet ? inet.getAddress() : null;
        String host = server.host().toLowerCase(Locale.ROOT);
        if (seedHosts.contains(host)) {
            if (seedAddresses.size() == SEED_ADDRESSES_MAX) {
                seedAddresses.clear();
            }
            seedAddresses.add(address);
        }
        String problem = rules.isDefault() ? problemOf(server, host, address) : ruleProblem(host, address);
        if (problem == null) {
            return null;
        }
        String fix = isOwnMachine(address)
                ? "; it is each client's own machine: give the servers an address that all clients reach"
                        + " (cluster-announce-ip of a cluster; sentinel monitor and replica-announce-ip with Sentinels)"
                : "; if it belongs to your servers, allow it with RedlockContext.clusterServers";
        return introduction + " names this server, and the client does not connect to it: " + problem + fix;
    }

    /** Whether the address leads each client to another machine, which no rule should allow. */
    private boolean isOwnMachine(InetAddress address) {
        boolean isLocal = address != null && (address.isLoopbackAddress() || address.isAnyLocalAddress());
        return isLocal && seedAddresses.stream().noneMatch(ClusterServers::isLoopback);
    }

    private String ruleProblem(String host, InetAddress address) {
        return seedHosts.contains(host) || rules.isAllowed(host, address)
                ? null
                : "no rule of " + rules + " allows " + shown(address);
    }

    private String problemOf(NodeAddress server, String host, InetAddress address) {
        if (server.port() < PORT_MIN && !seedPorts.contains(server.port())) {
            return "its port is below " + PORT_MIN + " and no seed has it";
        }
        // Only addresses of IP lead to other machines.
        boolean isAllowed = address == null || seedHosts.contains(host) || seedAddresses.contains(address)
                || ServerRules.isPrivate(address)
                || address.isLoopbackAddress() && seedAddresses.stream().anyMatch(ClusterServers::isLoopback)
                || seedDomains.stream().anyMatch(host::endsWith);
        return isAllowed ? null : shown(address) + " is in no private network and not near a seed";
    }

    private static boolean isLoopback(InetAddress address) {
        return address != null && address.isLoopbackAddress();
    }

    private static String shown(InetAddress address) {
        return address == null ? "it" : address.getHostAddress();
    }

    /**
     * Whether a host is configured.
     *
     * @return true if a seed has its host
     */
    public boolean isSeedHost(NodeAddress server) {
        return seedHosts.contains(server.host().toLowerCase(Locale.ROOT));
    }
}
