package dev.redlock.cli;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** A server on loopback that replies to each command as a test says. */
final class FakeServer implements AutoCloseable {

    private final ServerSocket listening;
    private final Map<String, String> replies = new ConcurrentHashMap<>();
    private final List<Socket> connections = new CopyOnWriteArrayList<>();

    FakeServer() {
        try {
            listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        start(this::accept);
    }

    private static void start(Runnable task) {
        Thread thread = new Thread(task, "fake-server");
        thread.setDaemon(true);
        thread.start();
    }

    /** Replies from now on with these bytes to a command, by its first word. */
    FakeServer reply(String command, String bytes) {
        replies.put(command, bytes);
        return this;
    }

    int port() {
        return listening.getLocalPort();
    }

    String address() {
        return "127.0.0.1:" + port();
    }

    private void accept() {
        try {
            while (true) {
                Socket connection = listening.accept();
                connections.add(connection);
                start(() -> serve(connection));
            }
        } catch (IOException e) {
            // The test has closed it.
        }
    }

    private void serve(Socket connection) {
        try {
            InputStream in = new BufferedInputStream(connection.getInputStream());
            while (true) {
                int count = number(in);
                String command = word(in);
                for (int i = 1; i < count; i++) {
                    word(in);
                }
                String reply = replies.getOrDefault(command, "-ERR unknown command\r\n");
                connection.getOutputStream().write(reply.getBytes(StandardCharsets.ISO_8859_1));
            }
        } catch (IOException e) {
            // The end of the connection.
        }
    }

    private static String word(InputStream in) throws IOException {
        byte[] word = in.readNBytes(number(in));
        in.skipNBytes(2);
        return new String(word, StandardCharsets.ISO_8859_1);
    }

    /** The number in a line, after its type. */
    private static int number(InputStream in) throws IOException {
        in.skipNBytes(1);
        int number = 0;
        for (int c = in.read(); c != '\r'; c = in.read()) {
            if (c < 0) {
                throw new IOException("the end of the connection");
            }
            number = 10 * number + c - '0';
        }
        in.skipNBytes(1);
        return number;
    }

    @Override
    public void close() {
        stop();
    }

    /** Accepts no further connection, and closes the present ones. */
    void stop() {
        try {
            listening.close();
            for (Socket connection : connections) {
                connection.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
