package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.time.DeadlineTimer;
import dev.redlock.transport.NodeAddress;
import dev.redlock.transport.OpenableConnection;
import dev.redlock.transport.TlsChannel;
import dev.redlock.transport.TlsContext;
import dev.redlock.transport.TlsFailure;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.WriteBufferWaterMark;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.Function;

/**
 * Opens the connections to one node: look-up of the host name, connect to its addresses in turn, the handshake of TLS,
 * time limits for all of them, and the delay before the next try. If Sentinels name the node, they are asked first.
 *
 * @param <C> the connections
 * @threading event-loop-confined
 */
final class NodeConnector<C extends OpenableConnection> {

    /** Longer than a resolver needs to ask a second server. */
    private static final long LOOKUP_TIMEOUT_MS = 10_000;
    /** Each look-up that hangs occupies a thread, so the limit for the next one doubles, this many times. */
    private static final int LOOKUP_DOUBLINGS_MAX = 5;

    /**
     * Gets the outcome of each try.
     *
     * @param <C> the connections
     * @threading event-loop-confined
     */
    interface Listener<C> {

        /** A try starts. */
        void onConnecting();

        /** Some addresses of the host name failed, and a connection to another one is open. */
        void onAddressesSkipped(String text);

        /** A connection is open, also for TLS; the handshake of the protocol is next. */
        void onConnected(C connection);

        /** The try failed and only a person can mend it; nothing is under way any more. */
        void onConnectRejected(String reason);

        /** The try failed; nothing is under way any more. */
        void onConnectFailed(String reason);

        /** Sentinels have named another server than that of the connection. */
        default void onMoved(String reason) {
            // A connection without Sentinels.
        }
    }

    /**
     * Names the server to connect to, which changes.
     *
     * @threading event-loop-confined
     */
    interface Directory {

        /** Finds the server; {@link #onNamed} or {@link #onNotNamed} follows, maybe within the call. */
        void find(NodeConnector<?> asker);

        /** The server is not wanted any more. */
        void cancel();

        /** The named server is usable. */
        void onUsable();

        /** There is no further try. */
        void close();
    }

    /**
     * The step of a try.
     *
     * @threading immutable
     */
    private enum Step {
        NONE, DIRECTORY, LOOK_UP, TLS_FILES, CONNECT, TLS_HANDSHAKE
    }

    /** Null until a directory has named it. */
    private NodeAddress address;
    private final NodeContext context;
    /** Null for the address of a master itself. */
    private final ConnectLimit limit;
    private final NodeOptions options;
    private final Function<TlsChannel, C> newConnection;
    private final Listener<C> listener;
    /** Null unless the address changes. */
    private final Directory directory;
    private HostAddresses addresses;
    private final Runnable starter = this::start;
    private final DeadlineTimer retryTimer = new DeadlineTimer(nowNs -> connect());
    private final DeadlineTimer timeoutTimer = new DeadlineTimer(nowNs -> onTimeout());
    private Step step = Step.NONE;
    private int lookupCount;
    /** Look-ups in a row that timed out. */
    private int lookupTimeoutCount;
    /** The TLS of the try; null if the node has none. */
    private TlsContext tls;
    private long connectStartNs;
    /** The last time that the clock has shown. */
    private long knownNs;
    /** The connection of step {@link Step#CONNECT} or later, and its channel once it exists. */
    private C opening;
    private Channel openingChannel;

    NodeConnector(NodeAddress address, NodeContext context, ConnectLimit limit,
            Function<TlsChannel, C> newConnection, Listener<C> listener) {
        this(address, context, limit, newConnection, listener, null);
    }

    /** The directory is null if the address is known. */
    NodeConnector(NodeAddress address, NodeContext context, ConnectLimit limit, Function<TlsChannel, C> newConnection,
            Listener<C> listener, Directory directory) {
        this.address = address;
        this.directory = directory;
        this.context = context;
        this.limit = limit;
        this.options = context.options();
        this.newConnection = newConnection;
        this.listener = listener;
        this.knownNs = context.clock().nanoTime();
        this.addresses = address == null ? null : new HostAddresses(address, connectTimeoutNs());
    }

    /** Starts a try, on a cluster when fewer are under way than its limit. */
    void connect() {
        try {
            if (limit == null) {
                start();
            } else {
                limit.enter(starter);
            }
        } catch (RuntimeException | Error e) {
            if (!isFailedBy(e)) {
                throw e;
            }
        }
    }

    private void start() {
        try {
            step = directory == null ? Step.LOOK_UP : Step.DIRECTORY;
            listener.onConnecting();
            if (step == Step.DIRECTORY) {
                directory.find(this);
            } else if (step == Step.LOOK_UP) {
                startLookUp();
            }
        } catch (RuntimeException | Error e) {
            if (!isFailedBy(e)) {
                throw e;
            }
        }
    }

    /**
     * A step of the try threw, as without memory: no timer may be left, so nothing else would lead to a next try.
     *
     * @return false if the try has failed before, and its report threw
     */
    private boolean isFailedBy(Throwable thrown) {
        if (retryTimer.isStarted()) {
            return false;
        }
        String reason = "connection failed";
        try {
            reason = "connection failed: " + thrown;
        } finally {
            fail(reason);
        }
        return true;
    }

    private void startLookUp() {
        step = Step.LOOK_UP;
        int number = ++lookupCount;
        try {
            // A resolver may never answer and a channel may not report its failure, so there is a time limit.
            context.timers().start(timeoutTimer, nowNs() + lookupTimeoutMs() * NS_PER_MS + connectTimeoutNs());
            lookUp(number);
        } catch (RuntimeException | Error e) {
            // For example, there is no thread for the look-up. The next try may succeed.
            onResolved(number, null, e);
        }
    }

    private void lookUp(int number) {
        Executor threads = limit == null ? this::runOnOwnThread : limit.lookups;
        NodeAddress asked = address;
        context.platform()
                .transport()
                .resolve(asked, threads, context.platform().loop(), (found, failure) -> {
                    // Sentinels may have named another server since.
                    if (asked.equals(address)) {
                        onResolved(number, found, failure);
                    }
                });
    }

    /** A look-up that hangs delays no other node. */
    private void runOnOwnThread(Runnable lookup) {
        context.platform().transport().newThread("redlock-lookup-" + address, lookup).start();
    }

    /** Starts a try after a delay. */
    void connectAfter(long delayNs) {
        long fromNs = knownNs;
        try {
            fromNs = nowNs();
        } finally {
            // Also if the clock throws: the try starts early then.
            context.timers().start(retryTimer, fromNs + delayNs);
        }
    }

    /** Cancels the try that is under way, or the delay before it. */
    void stop() {
        context.timers().stop(retryTimer);
        context.timers().stop(timeoutTimer);
        if (step == Step.DIRECTORY) {
            directory.cancel();
        }
        step = Step.NONE;
        if (limit != null) {
            limit.leave(starter);
        }
        closeOpening();
    }

    private void closeOpening() {
        Channel unwanted = openingChannel;
        opening = null;
        openingChannel = null;
        if (unwanted != null) {
            unwanted.close();
        }
    }

    private long connectTimeoutNs() {
        return options.timeouts().connectTimeoutMs() * NS_PER_MS;
    }

    private long lookupTimeoutMs() {
        return LOOKUP_TIMEOUT_MS << Math.min(lookupTimeoutCount, LOOKUP_DOUBLINGS_MAX);
    }

    private long nowNs() {
        knownNs = context.clock().nanoTime();
        return knownNs;
    }

    private void fail(String reason) {
        try {
            stop();
        } finally {
            listener.onConnectFailed(reason);
        }
    }

    private void reject(String reason) {
        try {
            stop();
        } finally {
            listener.onConnectRejected(reason);
        }
    }

    /**
     * A look-up has ended. The first one with addresses counts, also an earlier one that timed out: the name is the
     * same. A failure counts only if it is that of the latest look-up.
     */
    private void onResolved(int number, List<? extends SocketAddress> found, Throwable failure) {
        if (step != Step.LOOK_UP || found == null && number != lookupCount) {
            return;
        }
        lookupTimeoutCount = 0;
        if (found == null) {
            fail(lookupFailure(failure));
            return;
        }
        addresses.start(found, nowNs());
        try {
            if (address.isTls()) {
                // Also if an earlier look-up has found the host: the files are those of this try.
                readTlsFiles(lookupCount);
            } else {
                openNext();
            }
        } catch (RuntimeException | Error e) {
            fail("connection failed: " + e);
        }
    }

    private void readTlsFiles(int number) {
        step = Step.TLS_FILES;
        options.access()
                .tls()
                .forConnection(nowNs(), context.platform().loop(),
                        (read, problem) -> onTlsFilesRead(number, read, problem));
    }

    private void onTlsFilesRead(int number, TlsContext read, String problem) {
        if (step != Step.TLS_FILES || number != lookupCount) {
            return;
        }
        if (read == null) {
            reject("TLS cannot be used: " + problem);
            return;
        }
        tls = read;
        openNext();
    }

    /** One text for an unknown host: the JDK's message is a different one when its cache answers. */
    private String lookupFailure(Throwable failure) {
        return failure instanceof UnknownHostException
                ? "host name look-up failed: unknown host " + address.host() + "; check the address and the DNS"
                : "host name look-up failed: " + failure;
    }

    /** Connects to the next address of the host name. */
    private void openNext() {
        step = Step.CONNECT;
        SocketAddress next = addresses.next();
        if (next == null) {
            // Another Sentinel may name another server.
            if (addresses.areAllRejected() && directory == null) {
                reject(addresses.failure());
            } else {
                fail(addresses.failure());
            }
            return;
        }
        String refusal = limit == null ? null : limit.servers.refusal(address, next);
        if (refusal != null) {
            onAddressFailed(refusal, true);
            return;
        }
        connectStartNs = nowNs();
        context.timers().start(timeoutTimer, addresses.deadlineNs(connectStartNs));
        try {
            open(next);
        } catch (RuntimeException | Error e) {
            onAddressFailed("connection failed: " + e, false);
        }
    }

    private void onAddressFailed(String reason, boolean isRejected) {
        closeOpening();
        addresses.onFailure(reason, isRejected);
        openNext();
    }

    private void open(SocketAddress found) {
        // Netty's own resolver would hold a reference to the loop until the loop is shut down.
        Bootstrap bootstrap = new Bootstrap().group(context.platform().loop())
                .disableResolver()
                .channel(context.platform().transport().channelClass(address))
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 0)
                .option(ChannelOption.WRITE_BUFFER_WATER_MARK,
                        new WriteBufferWaterMark(options.limits().unsentBytesMax() / 2,
                                options.limits().unsentBytesMax()));
        context.platform().transport().tune(bootstrap, address, options.timeouts().unansweredTimeoutMs());
        C connection = newConnection
                .apply(tls == null ? null : new TlsChannel(address, tls, options.access().tls()));
        opening = connection;
        ChannelFuture connected = bootstrap.handler(initializerOf(connection)).connect(found);
        if (connected.isDone()) {
            // A channel that could not be created (too many open files) has no loop: a listener would be called on
            // another thread.
            onConnected(connected, connection);
            return;
        }
        openingChannel = connected.channel();
        connected.addListener((ChannelFuture future) -> onConnected(future, connection));
    }

    private static ChannelHandler initializerOf(OpenableConnection connection) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                connection.addTo(channel.pipeline());
            }
        };
    }

    private void onConnected(ChannelFuture future, C connection) {
        if (opening != connection) {
            future.channel().close();
        } else if (!future.isSuccess()) {
            onAddressFailed("connection failed: " + future.cause().getMessage(), false);
        } else if (connection.tls() == null) {
            onOpen(connection);
        } else {
            step = Step.TLS_HANDSHAKE;
            openingChannel = future.channel();
            context.timers().start(timeoutTimer, connectStartNs + connectTimeoutNs());
            connection.tls().onHandshake(failure -> onTlsHandshake(connection, failure));
        }
    }

    private void onOpen(C connection) {
        openingChannel = null;
        stop();
        try {
            String skipped = addresses.skipped();
            if (skipped != null) {
                listener.onAddressesSkipped(skipped);
            }
        } finally {
            listener.onConnected(connection);
        }
    }

    private void onTlsHandshake(C connection, Throwable thrown) {
        if (opening != connection) {
            return;
        }
        String nameProblem = thrown == null ? connection.tls().nameProblem() : null;
        if (nameProblem != null) {
            onAddressFailed(nameProblem, true);
            return;
        }
        if (thrown == null) {
            onOpen(connection);
            return;
        }
        TlsFailure failure = connection.tls().failureOf(thrown, true);
        onAddressFailed(failure.reason(), failure.isPermanent());
    }

    private void onTimeout() {
        try {
            endStep();
        } catch (RuntimeException | Error e) {
            if (!isFailedBy(e)) {
                throw e;
            }
        }
    }

    /** The step has taken too long. */
    private void endStep() {
        if (step == Step.LOOK_UP) {
            long timeoutMs = lookupTimeoutMs() + options.timeouts().connectTimeoutMs();
            lookupTimeoutCount++;
            fail("host name look-up timed out: no result for " + address.host() + " in " + timeoutMs
                    + " ms; check the DNS");
        } else if (step == Step.TLS_FILES) {
            fail("TLS cannot be used: the files of TlsOptions were not read in time; check their file system and the"
                    + " password suppliers");
        } else if (step == Step.TLS_HANDSHAKE) {
            onAddressFailed("the TLS handshake was not complete " + options.timeouts().connectTimeoutMs()
                    + " ms after the connect started:"
                    + " check that the port is the TLS port of the node", false);
        } else {
            onAddressFailed("connection failed: no answer in " + (nowNs() - connectStartNs) / NS_PER_MS + " ms: "
                    + addresses.current(), false);
        }
    }

    // ---- the directory ----------------------------------------------------------------------------------------------

    /** The directory has found the server. */
    void onNamed(NodeAddress named) {
        if (step == Step.DIRECTORY) {
            use(named);
            startLookUp();
        }
    }

    private void use(NodeAddress named) {
        if (!named.equals(address)) {
            address = named;
            addresses = new HostAddresses(named, connectTimeoutNs());
        }
    }

    /** The directory has not found it. */
    void onNotNamed(String reason) {
        if (step == Step.DIRECTORY) {
            fail(reason);
        }
    }

    /**
     * The server is another one now.
     *
     * @param isUrgent whether the next try may start before its delay ends
     */
    void onMoved(NodeAddress named, String reason, boolean isUrgent) {
        if (named.equals(address) && (step != Step.NONE || !retryTimer.isStarted())) {
            return;
        }
        if (step != Step.NONE && step != Step.DIRECTORY) {
            fail(reason);
        } else if (step == Step.NONE && !retryTimer.isStarted()) {
            listener.onMoved(reason);
        }
        if (isUrgent && retryTimer.isStarted()) {
            context.timers().stop(retryTimer);
            connect();
        }
    }

    /** Whether a try is in progress, or follows after a delay or when the limit permits it. */
    boolean isTrying() {
        return step != Step.NONE || retryTimer.isStarted() || limit != null && limit.isWaiting(starter);
    }

    /** Whether Sentinels name the server. */
    boolean hasDirectory() {
        return directory != null;
    }

    /** There is no further try. */
    void close() {
        stop();
        if (directory != null) {
            directory.close();
        }
    }

    // ---- addresses of the host name ---------------------------------------------------------------------------------

    /** Follows a problem of the connection, to name its address if there are several. */
    String place() {
        if (directory == null) {
            return addresses.place();
        }
        return address == null ? "" : " (at " + address + ")";
    }

    /** The handshake is complete. Returns a warning if the server is another process at another address, else null. */
    String onHandshake(boolean isOtherProcess) {
        String ambiguity = isOtherProcess ? addresses.ambiguity() : null;
        addresses.onHandshake();
        if (directory != null) {
            directory.onUsable();
        }
        return ambiguity;
    }

    /** The connection has ended. Returns whether an address is left that has not failed since the last handshake. */
    boolean onEnd() {
        if (addresses == null) {
            return true;
        }
        addresses.onEnd();
        return addresses.hasUntried();
    }
}
