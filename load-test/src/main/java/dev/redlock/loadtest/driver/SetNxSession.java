package dev.redlock.loadtest.driver;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.cli.ClientTls;
import dev.redlock.transport.NodeAddress;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HexFormat;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/**
 * The lower bound of the protocol: the published single-node pattern on the first node, without quorum, timeouts and
 * reconnects. It has one pipelined socket and one reading thread. Replies arrive in the order of the commands, so a
 * queue of handles is enough. Commands from listeners are flushed together after all available replies have been read.
 *
 * @threading any thread
 */
final class SetNxSession implements LockSession {
    private static final int CONNECT_LIMIT_MS = 5_000;
    private static final String COMPARE_AND_DELETE = "if redis.call('get',KEYS[1])==ARGV[1] then "
            + "return redis.call('del',KEYS[1]) else return 0 end";

    private final PeerTokens tokens = new PeerTokens();
    private final ArrayDeque<Handle> pending = new ArrayDeque<>();
    private final ByteArrayOutputStream batch = new ByteArrayOutputStream();
    private final Socket socket;
    private final InputStream in;
    private final Thread reader;
    private boolean isReading;
    private boolean isBroken;

    private SetNxSession(Socket socket) throws IOException {
        this.socket = socket;
        this.in = new BufferedInputStream(socket.getInputStream(), 1 << 16);
        this.reader = new Thread(this::read, "set-nx-reader");
        this.reader.setDaemon(true);
    }

    static LockSession open(SessionSpec spec) throws IOException {
        NodeAddress address = spec.preferredNodes().get(0);
        Socket socket = new Socket();
        try {
            socket.connect(new InetSocketAddress(address.host(), address.port()), CONNECT_LIMIT_MS);
            socket.setTcpNoDelay(true);
            SetNxSession session = new SetNxSession(
                    address.isTls() ? encrypted(socket, address, spec.files()) : socket);
            session.authenticate(address);
            session.reader.start();
            return session;
        } catch (IOException e) {
            socket.close();
            throw e;
        }
    }

    private static Socket encrypted(Socket socket, NodeAddress address, ClientTls files) throws IOException {
        SSLSocket encrypted = (SSLSocket) files.read()
                .context()
                .getSocketFactory()
                .createSocket(socket, address.host(), address.port(), true);
        SSLParameters parameters = encrypted.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        encrypted.setSSLParameters(parameters);
        encrypted.startHandshake();
        return encrypted;
    }

    private void authenticate(NodeAddress address) throws IOException {
        if (address.password() == null) {
            return;
        }
        byte[] command = address.user() != null
                ? command("AUTH", address.user(), address.password())
                : command("AUTH", address.password());
        socket.getOutputStream().write(command);
        String reply = readLine();
        if (!reply.equals("+OK")) {
            throw new IOException("node " + address + " refused the credentials: " + reply);
        }
    }

    @Override
    public LockHandle handle(LockSpec spec, LockListener listener) {
        return new Handle(spec, listener);
    }

    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot close the socket", e);
        }
    }

    private void send(Handle handle, byte[] command) {
        if (!trySend(handle, command)) {
            handle.onBroken();
        }
    }

    private synchronized boolean trySend(Handle handle, byte[] command) {
        if (isBroken) {
            return false;
        }
        pending.add(handle);
        batch.writeBytes(command);
        if (isReading) {
            return true;
        }
        return flush();
    }

    private boolean flush() {
        try {
            batch.writeTo(socket.getOutputStream());
            batch.reset();
            return true;
        } catch (IOException e) {
            // The reader detects the broken socket too, and notifies every pending handle.
            return true;
        }
    }

    private void read() {
        try {
            while (true) {
                String reply = readLine();
                next().onReply(reply);
                endTurn();
            }
        } catch (IOException e) {
            breakAll();
        }
    }

    private synchronized Handle next() throws IOException {
        isReading = true;
        Handle handle = pending.poll();
        if (handle == null) {
            throw new IOException("a reply without a request");
        }
        return handle;
    }

    private synchronized void endTurn() throws IOException {
        if (in.available() == 0) {
            isReading = false;
            flush();
        }
    }

    private void breakAll() {
        for (Handle handle = nextBroken(); handle != null; handle = nextBroken()) {
            handle.onBroken();
        }
    }

    private synchronized Handle nextBroken() {
        isBroken = true;
        return pending.poll();
    }

    /** Every reply here is one line: a status, an integer, an error, or the null of a refused SET. */
    private String readLine() throws IOException {
        StringBuilder line = new StringBuilder(8);
        for (int next = in.read(); next != '\n'; next = in.read()) {
            if (next < 0) {
                throw new EOFException("the node closed the connection");
            }
            if (next != '\r') {
                line.append((char) next);
            }
        }
        return line.toString();
    }

    private static byte[] command(String... words) {
        StringBuilder text = new StringBuilder("*" + words.length + "\r\n");
        for (String word : words) {
            text.append('$').append(word.getBytes(StandardCharsets.UTF_8).length).append("\r\n");
            text.append(word).append("\r\n");
        }
        return text.toString().getBytes(StandardCharsets.UTF_8);
    }

    /** @threading caller-confined between a call and its outcome */
    private final class Handle implements LockHandle {
        private final String resource;
        private final Duration ttl;
        private final LockListener listener;
        private String token;
        private long startNs;
        private boolean isReleasing;

        Handle(LockSpec spec, LockListener listener) {
            this.resource = spec.resource();
            this.ttl = spec.ttl();
            this.listener = listener;
        }

        @Override
        public void acquire() {
            token = HexFormat.of().formatHex(tokens.next());
            isReleasing = false;
            startNs = System.nanoTime();
            send(this, command("SET", resource, token, "NX", "PX", Long.toString(ttl.toMillis())));
        }

        @Override
        public void release() {
            isReleasing = true;
            send(this, command("EVAL", COMPARE_AND_DELETE, "1", resource, token));
        }

        void onReply(String reply) {
            if (isReleasing) {
                listener.onRelease(releaseVerdict(reply));
                return;
            }
            if (reply.equals("+OK")) {
                long spentNs = System.nanoTime() - startNs;
                listener.onAcquire(AcquireOutcome.Kind.ACQUIRED, Math.max(0, ttl.toNanos() - spentNs));
            } else {
                listener.onAcquire(
                        reply.startsWith("$-1") ? AcquireOutcome.Kind.CONTENDED : AcquireOutcome.Kind.NO_QUORUM,
                        0);
            }
        }

        private ReleaseOutcome releaseVerdict(String reply) {
            return switch (reply) {
                case ":1" -> ReleaseOutcome.RELEASED;
                case ":0" -> ReleaseOutcome.EXPIRED;
                default -> ReleaseOutcome.UNKNOWN;
            };
        }

        void onBroken() {
            if (isReleasing) {
                listener.onRelease(ReleaseOutcome.UNKNOWN);
            } else {
                listener.onAcquire(AcquireOutcome.Kind.CLOSED, 0);
            }
        }
    }
}
