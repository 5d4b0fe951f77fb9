package dev.redlock.cli;

import dev.redlock.Credentials;
import dev.redlock.node.send.ErrorAdvice;
import dev.redlock.resp.RespValue;
import dev.redlock.resp.SafeText;
import dev.redlock.transport.ClusterServers;
import dev.redlock.transport.NodeAddress;
import dev.redlock.transport.SentinelAddress;
import dev.redlock.transport.ServerRules;
import dev.redlock.transport.VoterAddress;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Addresses with Sentinels, for the options of programs: reads them, and asks the Sentinels in turn for the address of
 * their primary.
 *
 * @threading any thread
 */
public final class SentinelQuestion {

    static final String USER = "REDLOCK_SENTINEL_USER";
    static final String PASSWORD = "REDLOCK_SENTINEL_PASSWORD";

    private SentinelQuestion() {
    }

    /**
     * The password of the Sentinels from the environment.
     *
     * @return null for none
     */
    public static Credentials credentials() {
        String user = System.getenv(USER);
        String password = System.getenv(PASSWORD);
        if (password == null || password.isEmpty()) {
            return null;
        }
        return user == null || user.isEmpty()
                ? Credentials.of(password.toCharArray())
                : Credentials.of(user, password.toCharArray());
    }

    /**
     * Restores the addresses with Sentinels, in which commas separate these: a name ends each of them.
     *
     * @param texts the parts of an option between its commas
     * @return the addresses, without blanks at their ends
     */
    public static List<String> joined(List<String> texts) {
        return SentinelAddress.joined(texts.stream().map(String::trim).toList());
    }

    /**
     * Parses an address.
     *
     * @param text with Sentinels or of a server
     * @return the address
     * @throws IllegalArgumentException if it is malformed
     */
    public static VoterAddress parse(String text) {
        return SentinelAddress.isSentinel(text) ? SentinelAddress.parse(text) : NodeAddress.parse(text);
    }

    /** The server of a node now: asks its Sentinels, if it has some. */
    static NodeAddress serverOf(VoterAddress node, Duration timeout, ClientTls files) throws IOException {
        return node instanceof SentinelAddress group ? primaryOf(group, timeout, files) : (NodeAddress) node;
    }

    /**
     * Asks for the primary.
     *
     * @param group   the Sentinels, which are asked in turn
     * @param timeout bound of each connect and of each reply
     * @param files   for Sentinels and servers with TLS
     * @return a server that a Sentinel names, and that says it is a master
     * @throws IOException if there is none
     */
    public static NodeAddress primaryOf(SentinelAddress group, Duration timeout, ClientTls files) throws IOException {
        ClusterServers filter = new ClusterServers("a Sentinel", ServerRules.DEFAULT, group.servers());
        List<String> problems = new ArrayList<>();
        boolean isNamed = false;
        for (NodeAddress sentinel : group.servers()) {
            try {
                filter.refusal(sentinel, placeOf(sentinel));
                NodeAddress primary = named(sentinel, group, timeout, files);
                isNamed = true;
                String refusal = filter.refusal(primary, placeOf(primary));
                if (refusal != null) {
                    throw new IOException(primary + ": " + refusal);
                }
                requireMaster(primary, timeout, files);
                return primary;
            } catch (IOException e) {
                problems.add(sentinel + ": " + e.getMessage());
            }
        }
        String problem = isNamed
                ? "the primary that Sentinels name for " + group + " cannot be used: "
                : "no Sentinel names the primary of " + group + ": ";
        throw new IOException(problem + String.join("; ", problems));
    }

    private static InetSocketAddress placeOf(NodeAddress address) {
        return new InetSocketAddress(address.host(), address.port());
    }

    private static NodeAddress named(NodeAddress sentinel, SentinelAddress group, Duration timeout, ClientTls files)
            throws IOException {
        try (AdminClient client = AdminClient.connect(sentinel, timeout, files)) {
            authenticate(client);
            RespValue reply = client.send("SENTINEL", "GET-MASTER-ADDR-BY-NAME", group.name());
            if (reply.isError()) {
                throw new IOException(SafeText.of(reply.asText()));
            }
            if (reply.isNull()) {
                throw new IOException("it knows no primary " + group.name());
            }
            List<RespValue> parts = reply.type().isAggregate() ? reply.elements() : List.of();
            try {
                return group.server(parts.get(0).asText(), Integer.parseInt(parts.get(1).asText()));
            } catch (RuntimeException e) {
                throw new IOException("its answer is no address: " + SafeText.of(reply.toString()), e);
            }
        }
    }

    private static void authenticate(AdminClient client) throws IOException {
        String user = System.getenv(USER);
        String password = System.getenv(PASSWORD);
        if (password == null || password.isEmpty()) {
            return;
        }
        RespValue reply = user == null || user.isEmpty()
                ? client.send("AUTH", password)
                : client.send("AUTH", user, password);
        if (reply.isError()) {
            throw new IOException("authentication failed: correct " + USER + " and " + PASSWORD);
        }
    }

    private static void requireMaster(NodeAddress primary, Duration timeout, ClientTls files) throws IOException {
        try (AdminClient client = AdminClient.connect(primary, timeout, files)) {
            RespValue reply = client.send("INFO", "replication");
            if (reply.isError()) {
                String code = ErrorAdvice.codeOf(reply.asText());
                throw new IOException(primary + ": INFO replication failed: " + SafeText.of(reply.asText()) + "; "
                        + (code.equals("NOPERM") ? "allow +info with ACL SETUSER" : ErrorAdvice.of(code)));
            }
            if (!reply.asText().contains("role:master")) {
                throw new IOException(primary + " is no master");
            }
        }
    }
}
