package dev.redlock.transport;

import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The servers that the maps of clusters may name beside the configured ones: networks, IP addresses, names, and domains
 * such as {@code *.example.com}.
 *
 * @threading immutable
 */
public final class ServerRules {

    /** Without rules of the user's: private networks, and the surroundings of the seeds. */
    public static final ServerRules DEFAULT = new ServerRules(null);

    private static final int RULES_MAX = 64;
    private static final List<Network> PRIVATE = List.of(network("10.0.0.0/8"), network("172.16.0.0/12"),
            network("192.168.0.0/16"), network("100.64.0.0/10"), network("fc00::/7"));

    /**
     * A network.
     *
     * @threading immutable
     */
    private record Network(byte[] address, int length) {

        boolean contains(InetAddress other) {
            byte[] bytes = other.getAddress();
            if (bytes.length != address.length) {
                return false;
            }
            for (int bit = 0; bit < length; bit += 8) {
                int mask = length - bit >= 8 ? 0xff : 0xff << 8 - (length - bit) & 0xff;
                if ((bytes[bit / 8] & mask) != (address[bit / 8] & mask)) {
                    return false;
                }
            }
            return true;
        }
    }

    private final List<String> texts;
    private final List<Network> networks = new ArrayList<>();
    private final List<String> names = new ArrayList<>();

    private ServerRules(List<String> texts) {
        this.texts = texts;
    }

    /**
     * Parses rules.
     *
     * @throws IllegalArgumentException if a rule is malformed, or there are none or too many
     */
    public static ServerRules parse(String... texts) {
        if (texts.length == 0 || texts.length > RULES_MAX) {
            throw new IllegalArgumentException(texts.length + " rules for the servers of clusters: 1 to " + RULES_MAX
                    + " are allowed");
        }
        ServerRules rules = new ServerRules(List.of(texts));
        for (String text : texts) {
            Network network = network(text);
            if (network != null) {
                rules.networks.add(network);
            } else if (text.matches("\\*|(\\*\\.)?[0-9A-Za-z_-]+(\\.[0-9A-Za-z_-]+)*")) {
                rules.names.add(text.toLowerCase(Locale.ROOT));
            } else {
                throw new IllegalArgumentException("\"" + text + "\" is no rule for the servers of clusters: write a"
                        + " network such as 10.0.0.0/8 or fd00::/8, an IP address, a host name, a domain such as"
                        + " *.example.com, or * for any");
            }
        }
        return rules;
    }

    /** Returns null if the text is no network and no IP address. */
    private static Network network(String text) {
        int slash = text.indexOf('/');
        byte[] address = NetUtil.createByteArrayFromIpAddressString(slash < 0 ? text : text.substring(0, slash));
        if (address == null) {
            return null;
        }
        String length = slash < 0 ? Integer.toString(8 * address.length) : text.substring(slash + 1);
        return length.matches("[0-9]{1,3}") && Integer.parseInt(length) <= 8 * address.length
                ? new Network(address, Integer.parseInt(length))
                : null;
    }

    boolean isDefault() {
        return texts == null;
    }

    /** Whether a rule of the user's allows a server. */
    boolean isAllowed(String host, InetAddress address) {
        String name = host.toLowerCase(Locale.ROOT);
        return contains(networks, address)
                || names.stream()
                        .anyMatch(rule -> rule.equals("*") || rule.equals(name)
                                || rule.startsWith("*.") && name.endsWith(rule.substring(1)));
    }

    static boolean isPrivate(InetAddress address) {
        return contains(PRIVATE, address);
    }

    private static boolean contains(List<Network> networks, InetAddress address) {
        return address != null && networks.stream().anyMatch(network -> network.contains(address));
    }

    @Override
    public String toString() {
        return texts == null ? "default" : texts.toString();
    }
}
