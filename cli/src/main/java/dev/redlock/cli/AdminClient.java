package dev.redlock.cli;

import dev.redlock.resp.RespValue;
import dev.redlock.resp.RespWriter;
import dev.redlock.transport.NodeAddress;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A client of one node in blocking form, for set-up and checks: one command, one reply, one deadline. Not for
 * measuring.
 *
 * @threading any thread but an event loop
 */
public final class AdminClient implements AutoCloseable {

    private final NodeAddress address;
    private final AdminConnection connection;

    private AdminClient(NodeAddress address, AdminConnection connection) {
        this.address = address;
        this.connection = connection;
    }

    /**
     * Connects, and authenticates when the address has a password. A node with TLS needs a certificate that the JDK
     * trusts.
     *
     * @param address the node
     * @param timeout bound of the connect to each address of its host name, and of every later reply
     * @return a connected client
     * @throws IOException if the node cannot be reached in time or refuses the credentials
     */
    public static AdminClient connect(NodeAddress address, Duration timeout) throws IOException {
        return connect(address, timeout, ClientTls.DEFAULTS);
    }

    /**
     * Connects, and authenticates when the address has a password.
     *
     * @param address the node
     * @param timeout bound of the connect to each address of its host name, and of every later reply
     * @param files   for a node with TLS
     * @return a connected client
     * @throws IOException if the node cannot be reached in time, or one of the two refuses the other
     */
    public static AdminClient connect(NodeAddress address, Duration timeout, ClientTls files) throws IOException {
        int timeoutMs = (int) Math.max(1, Math.min(Integer.MAX_VALUE, timeout.toMillis()));
        AdminClient admin;
        try {
            admin = new AdminClient(address,
                    firstOf(socketAddresses(address), place -> address.isTls() || address.isUnixSocket()
                            ? NettyConnection.open(address, place, timeoutMs, files)
                            : PlainConnection.open(address, place, timeoutMs)));
        } catch (IOException e) {
            throw new IOException("cannot connect to " + address + ": " + e.getMessage(), e);
        }
        try {
            admin.authenticate();
            return admin;
        } catch (IOException e) {
            admin.close();
            throw e;
        }
    }

    private static List<SocketAddress> socketAddresses(NodeAddress address) throws UnknownHostException {
        if (address.isUnixSocket()) {
            return List.of(UnixDomainSocketAddress.of(address.path()));
        }
        InetAddress[] found;
        try {
            found = InetAddress.getAllByName(address.host());
        } catch (UnknownHostException e) {
            // The JDK's message is a different one when its cache answers.
            throw new UnknownHostException("host name look-up failed: unknown host " + address.host()
                    + "; check the address and the DNS");
        }
        return Arrays.stream(found).<SocketAddress>map(one -> new InetSocketAddress(one, address.port())).toList();
    }

    /**
     * Opens a connection to one address.
     *
     * @threading caller-confined
     */
    @FunctionalInterface
    interface Opener {
        AdminConnection open(SocketAddress place) throws IOException;
    }

    /** Tries the addresses of a host name in turn. */
    static AdminConnection firstOf(List<SocketAddress> places, Opener opener) throws IOException {
        StringBuilder problems = new StringBuilder();
        IOException last = null;
        for (SocketAddress place : places) {
            try {
                return opener.open(place);
            } catch (IOException e) {
                problems.append(problems.isEmpty() ? "" : "; ").append(e.getMessage());
                last = e;
            }
        }
        throw new IOException(problems.toString(), last);
    }

    private void authenticate() throws IOException {
        if (address.password() == null) {
            return;
        }
        RespValue reply = address.user() != null
                ? send("AUTH", address.user(), address.password())
                : send("AUTH", address.password());
        if (reply.isError()) {
            throw new IOException("node " + address + " refused the credentials: " + reply.asText());
        }
    }

    /**
     * Sends one command and waits for its reply.
     *
     * @param words the command and its arguments
     * @return the reply; an error of the server is a value too
     * @throws IOException if the connection breaks or no reply comes in time
     */
    public RespValue send(String... words) throws IOException {
        List<byte[]> command = new ArrayList<>();
        for (String word : words) {
            command.add(word.getBytes(StandardCharsets.UTF_8));
        }
        return sendAll(List.of(command)).get(0);
    }

    /**
     * Sends commands without waiting in between, then waits for their replies, each as long as for one command.
     *
     * @param commands each the words of one command, as bytes
     * @return the replies in order; an error of the server is a value too
     * @throws IOException if the connection breaks or a reply does not come in time
     */
    public List<RespValue> sendAll(List<List<byte[]>> commands) throws IOException {
        List<ByteBuf> encoded = new ArrayList<>();
        for (List<byte[]> words : commands) {
            ByteBuf out = Unpooled.buffer();
            RespWriter.arrayHeader(out, words.size());
            for (byte[] word : words) {
                RespWriter.bulkString(out, word);
            }
            encoded.add(out);
        }
        return connection.exchange(encoded);
    }

    /**
     * Sends one command and waits for its reply, as a value of the JDK.
     *
     * @param words the command and its arguments
     * @return a String, a Long, a List, null, or the {@link RespValue} of an error
     * @throws IOException if the connection breaks or no reply comes in time
     */
    public Object call(String... words) throws IOException {
        return plain(send(words));
    }

    private static Object plain(RespValue value) {
        if (value.isNull() || value.isError()) {
            return value.isNull() ? null : value;
        }
        return switch (value.type()) {
            case INTEGER -> value.asLong();
            case ARRAY -> value.elements().stream().map(AdminClient::plain).toList();
            default -> value.asText();
        };
    }

    /**
     * One field of {@code INFO}, such as {@code redis_version}.
     *
     * @param field the name before the colon
     * @return its value, or an empty string when the server does not report it
     * @throws IOException if the connection breaks or no reply comes in time
     */
    public String info(String field) throws IOException {
        RespValue reply = send("INFO");
        if (reply.isError()) {
            throw new IOException("INFO answered " + reply.asText());
        }
        return reply.asText()
                .lines()
                .filter(line -> line.startsWith(field + ":"))
                .map(line -> line.substring(field.length() + 1))
                .findFirst()
                .orElse("");
    }

    @Override
    public void close() {
        connection.close();
    }
}
