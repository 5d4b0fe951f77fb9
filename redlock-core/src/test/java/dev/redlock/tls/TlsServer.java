package dev.redlock.tls;

import io.netty.pkitesting.X509Bundle;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import javax.net.ssl.ExtendedSSLSession;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;

/** Speaks TLS on a loopback port and passes the plain bytes to a node, or breaks TLS in one way. */
public final class TlsServer implements AutoCloseable {

    /** What the server does with a connection. */
    public interface Way {
        void serve(Socket raw, TlsServer server) throws Exception;
    }

    private final ServerSocket listener;
    private final Set<Socket> open = ConcurrentHashMap.newKeySet();
    private final AtomicInteger acceptedCount = new AtomicInteger();
    private final AtomicReference<String> serverName = new AtomicReference<>();
    private final AtomicReference<String> clientName = new AtomicReference<>();
    private final int nodePort;
    private volatile X509Bundle identity;
    private volatile X509Bundle trusted;
    private volatile List<String> protocols = List.of("TLSv1.3", "TLSv1.2");
    private volatile Way way = TlsServer::relay;

    public TlsServer(int nodePort, X509Bundle identity) throws IOException {
        this.nodePort = nodePort;
        this.identity = identity;
        this.listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        start("accept", this::acceptAll);
    }

    public int port() {
        return listener.getLocalPort();
    }

    public TlsServer identity(X509Bundle newIdentity) {
        identity = newIdentity;
        return this;
    }

    /** Asks for client certificates that an authority has issued. */
    public TlsServer trust(X509Bundle authority) {
        trusted = authority;
        return this;
    }

    public TlsServer protocols(String... names) {
        protocols = List.of(names);
        return this;
    }

    public TlsServer way(Way newWay) {
        way = newWay;
        return this;
    }

    public int acceptedCount() {
        return acceptedCount.get();
    }

    /** @return the server name of the last handshake; null for none */
    public String serverName() {
        return serverName.get();
    }

    /** @return the subject of the last client certificate; null for none */
    public String clientName() {
        return clientName.get();
    }

    /** Ends all connections, so that the client connects again. */
    public void disconnectAll() {
        open.forEach(TlsServer::close);
    }

    private void acceptAll() throws IOException {
        while (true) {
            Socket raw = listener.accept();
            open.add(raw);
            acceptedCount.incrementAndGet();
            start("serve", () -> {
                try {
                    way.serve(raw, this);
                } finally {
                    close(raw);
                    open.remove(raw);
                }
            });
        }
    }

    /** Completes a handshake. */
    SSLSocket handshake(Socket raw) throws Exception {
        SSLContext context = SSLContext.getInstance("TLS");
        KeyStore keys = identity.toKeyStore(new char[0]);
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(keys, new char[0]);
        context.init(factory.getKeyManagers(),
                trusted == null ? null : new TrustManager[]{trusted.toTrustManager()}, null);
        SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket(raw, "localhost", raw.getPort(), true);
        socket.setUseClientMode(false);
        socket.setNeedClientAuth(trusted != null);
        socket.setEnabledProtocols(protocols.toArray(String[]::new));
        serverName.set(null);
        clientName.set(null);
        socket.startHandshake();
        ((ExtendedSSLSession) socket.getSession()).getRequestedServerNames()
                .forEach(name -> serverName.set(((SNIHostName) name).getAsciiName()));
        if (trusted != null) {
            clientName.set(socket.getSession().getPeerPrincipal().getName());
        }
        return socket;
    }

    /** The honest way. */
    public static void relay(Socket raw, TlsServer server) throws Exception {
        SSLSocket socket = server.handshake(raw);
        Socket node = server.connectToNode();
        start("replies", () -> copy(node.getInputStream(), socket.getOutputStream(), node));
        copy(socket.getInputStream(), node.getOutputStream(), node);
    }

    /** How a stream ends. */
    public enum End {
        /** Of TCP alone, as if bytes were cut off. */
        TCP,
        /** Of TLS by close_notify, then of TCP. */
        TLS_AND_TCP,
        /** Of TLS by close_notify. The TCP connection stays open. */
        TLS
    }

    /** Ends the stream to the client after a number of plain bytes. */
    public static Way endedAfter(int bytes, End end) {
        return (raw, server) -> {
            SSLSocket socket = server.handshake(raw);
            Socket node = server.connectToNode();
            Thread requests = start("requests",
                    () -> copy(socket.getInputStream(), node.getOutputStream(), node));
            byte[] buffer = new byte[16_384];
            for (int left = bytes; left > 0;) {
                int length = Math.max(0, node.getInputStream().read(buffer, 0, Math.min(left, buffer.length)));
                socket.getOutputStream().write(buffer, 0, length);
                left = length == 0 ? 0 : left - length;
            }
            if (end != End.TCP) {
                socket.shutdownOutput();
            }
            if (end != End.TLS) {
                raw.shutdownOutput();
            }
            // Until the client has closed, so that the bytes are not lost in a reset.
            requests.join();
        };
    }

    /** Starts a second handshake on each connection, as TLS 1.2 allows, after the first request. */
    public static void renegotiate(Socket raw, TlsServer server) throws Exception {
        SSLSocket socket = server.handshake(raw);
        Socket node = server.connectToNode();
        byte[] first = new byte[1];
        if (socket.getInputStream().read(first) == 1) {
            node.getOutputStream().write(first);
            socket.startHandshake();
            start("replies", () -> copy(node.getInputStream(), socket.getOutputStream(), node));
            copy(socket.getInputStream(), node.getOutputStream(), node);
        }
    }

    /** Sends bytes that are not TLS. */
    public static Way sending(byte[] bytes) {
        return (raw, server) -> {
            raw.getOutputStream().write(bytes);
            raw.getOutputStream().flush();
            stall(raw, server);
        };
    }

    public static Way sending(String text) {
        return sending(text.getBytes(StandardCharsets.ISO_8859_1));
    }

    /** Accepts, and never replies. */
    public static void stall(Socket raw, TlsServer server) throws Exception {
        while (raw.getInputStream().read() >= 0) {
            // The request is ignored.
        }
    }

    /** Ends the connection when the first byte of the handshake arrives. */
    public static void disconnect(Socket raw, TlsServer server) throws Exception {
        raw.getInputStream().read();
    }

    Socket connectToNode() throws IOException {
        Socket node = new Socket(InetAddress.getLoopbackAddress(), nodePort);
        node.setTcpNoDelay(true);
        open.add(node);
        return node;
    }

    private static void copy(InputStream in, OutputStream out, Socket node) throws IOException {
        try {
            byte[] buffer = new byte[16_384];
            for (int length = in.read(buffer); length >= 0; length = in.read(buffer)) {
                out.write(buffer, 0, length);
                out.flush();
            }
        } finally {
            close(node);
        }
    }

    private interface Task {
        void run() throws Exception;
    }

    private static Thread start(String name, Task task) {
        Thread thread = new Thread(() -> {
            try {
                task.run();
            } catch (Exception e) {
                // The end of a connection, which the client sees.
            }
        }, "tls-server-" + name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // It is closed.
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
        disconnectAll();
    }
}
