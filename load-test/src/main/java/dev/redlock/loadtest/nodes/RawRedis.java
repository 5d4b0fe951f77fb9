package dev.redlock.loadtest.nodes;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A small blocking RESP2 client for set-up and checks: one command, one reply, one deadline. It shares no code with
 * the codec under test, on purpose. Not for measuring.
 *
 * @threading caller-confined
 */
public final class RawRedis implements AutoCloseable {
    private final Closeable socket;
    private final InputStream in;
    private final OutputStream out;

    private RawRedis(Closeable socket, InputStream in, OutputStream out) {
        this.socket = socket;
        this.in = new BufferedInputStream(in);
        this.out = out;
    }

    /**
     * Connects, and authenticates when the address has a password.
     *
     * @param address the node
     * @param timeout bound of the connect and of every later reply
     * @return a connected client
     * @throws IOException if the node cannot be reached in time or refuses the credentials
     */
    public static RawRedis connect(NodeAddress address, Duration timeout) throws IOException {
        if (address.isUnixSocket()) {
            UnixStream stream = UnixStream.connect(Path.of(address.path()), timeout);
            return new RawRedis(stream, stream.in(), stream.out());
        }
        int timeoutMs = (int) Math.max(1, timeout.toMillis());
        Socket socket = new Socket();
        try {
            socket.connect(new InetSocketAddress(address.host(), address.port()), timeoutMs);
            socket.setSoTimeout(timeoutMs);
            socket.setTcpNoDelay(true);
            RawRedis redis = new RawRedis(socket, socket.getInputStream(), socket.getOutputStream());
            redis.authenticate(address);
            return redis;
        } catch (IOException e) {
            socket.close();
            throw e;
        }
    }

    private void authenticate(NodeAddress address) throws IOException {
        if (address.password().isEmpty()) {
            return;
        }
        String password = address.password().get();
        Object reply = address.user().isPresent()
                ? call("AUTH", address.user().get(), password)
                : call("AUTH", password);
        if (reply instanceof ReplyError error) {
            throw new IOException("node " + address + " refused the credentials: " + error.message());
        }
    }

    /**
     * Sends one command and waits for its reply.
     *
     * @param words the command and its arguments
     * @return a String, a Long, a List, null, or a {@link ReplyError}
     * @throws IOException if the connection breaks or no reply comes in time
     */
    public Object call(String... words) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        bytes.writeBytes(("*" + words.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
        for (String word : words) {
            byte[] utf8 = word.getBytes(StandardCharsets.UTF_8);
            bytes.writeBytes(("$" + utf8.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
            bytes.writeBytes(utf8);
            bytes.writeBytes(new byte[]{'\r', '\n'});
        }
        out.write(bytes.toByteArray());
        return readReply();
    }

    /**
     * One field of {@code INFO}, such as {@code redis_version}.
     *
     * @param field the name before the colon
     * @return its value, or an empty string when the server does not report it
     * @throws IOException if the connection breaks or no reply comes in time
     */
    public String info(String field) throws IOException {
        Object reply = call("INFO");
        if (reply instanceof ReplyError error) {
            throw new IOException("INFO answered " + error.message());
        }
        return String.valueOf(reply)
                .lines()
                .filter(line -> line.startsWith(field + ":"))
                .map(line -> line.substring(field.length() + 1))
                .findFirst()
                .orElse("");
    }

    private Object readReply() throws IOException {
        String line = readLine();
        String rest = line.substring(1);
        return switch (line.charAt(0)) {
            case '+' -> rest;
            case '-' -> new ReplyError(rest);
            case ':' -> Long.valueOf(rest);
            case '$' -> readBulk(Integer.parseInt(rest));
            case '*' -> readArray(Integer.parseInt(rest));
            default -> throw new IOException("not a RESP2 reply: '" + line + "'");
        };
    }

    private String readBulk(int length) throws IOException {
        if (length < 0) {
            return null;
        }
        byte[] bytes = in.readNBytes(length + 2);
        if (bytes.length < length + 2) {
            throw closedByNode();
        }
        return new String(bytes, 0, length, StandardCharsets.UTF_8);
    }

    private List<Object> readArray(int count) throws IOException {
        if (count < 0) {
            return null;
        }
        List<Object> elements = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            elements.add(readReply());
        }
        return elements;
    }

    private String readLine() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = in.read(); next != '\n'; next = in.read()) {
            if (next < 0) {
                throw closedByNode();
            }
            if (next != '\r') {
                line.append((char) next);
            }
        }
        if (line.isEmpty()) {
            throw new IOException("not a RESP2 reply: an empty line");
        }
        return line.toString();
    }

    private static EOFException closedByNode() {
        return new EOFException("the node closed the connection");
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }

    /**
     * An error reply, as a value.
     *
     * @param message the server's words, kind first
     * @threading immutable
     */
    public record ReplyError(String message) {
    }
}
