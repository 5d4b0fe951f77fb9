package dev.redlock.loadtest.docs;

import dev.redlock.transport.NodeAddress;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * A port before a node that has just been started, through which it says that it has been up for a day: clients with
 * all defaults would else keep it from voting for a minute. Every reply of the protocol ends a line, so lines are what
 * is passed on; the one about the uptime grows, and the one behind it, which nobody reads, shrinks by as much.
 */
final class AgedNode implements AutoCloseable {
    private static final String UPTIME = "uptime_in_seconds:";
    private static final String A_DAY = "86400";

    private final NodeAddress node;
    private final ServerSocket port;
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();

    AgedNode(NodeAddress node) {
        this.node = node;
        try {
            this.port = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        start("port", this::accept);
    }

    NodeAddress address() {
        return NodeAddress.parse("127.0.0.1:" + port.getLocalPort());
    }

    /** A copying job; it ends with an error when a socket is closed, and closes the others then. */
    @FunctionalInterface
    private interface Job {
        void run() throws IOException;
    }

    private void start(String what, Job job) {
        Thread thread = new Thread(() -> {
            try {
                job.run();
            } catch (IOException e) {
                // One side has hung up, which is how every connection ends.
                return;
            }
        }, "aged-node-" + what);
        thread.setDaemon(true);
        thread.start();
    }

    private void accept() throws IOException {
        while (true) {
            Socket client = kept(port.accept());
            Socket server = kept(new Socket(node.host(), node.port()));
            start("requests", () -> {
                try (client; server) {
                    client.getInputStream().transferTo(server.getOutputStream());
                }
            });
            start("replies", () -> {
                try (client; server) {
                    passReplies(new BufferedInputStream(server.getInputStream()), client.getOutputStream());
                }
            });
        }
    }

    private Socket kept(Socket socket) throws IOException {
        socket.setTcpNoDelay(true);
        sockets.add(socket);
        return socket;
    }

    static void passReplies(InputStream in, OutputStream out) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        int surplus = 0;
        for (int next = in.read(); next >= 0; next = in.read()) {
            line.write(next);
            if (next == '\n') {
                String text = line.toString(StandardCharsets.ISO_8859_1);
                String aged = text.startsWith(UPTIME) ? UPTIME + A_DAY + "\r\n" : text.substring(surplus);
                surplus = text.startsWith(UPTIME) ? aged.length() - text.length() : 0;
                out.write(aged.getBytes(StandardCharsets.ISO_8859_1));
                line.reset();
            }
        }
    }

    @Override
    public void close() {
        try {
            port.close();
            for (Socket socket : sockets) {
                socket.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
