package dev.redlock.transport;

import dev.redlock.api.TlsProvider;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.ssl.OpenSsl;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.util.ReferenceCountUtil;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import javax.net.ssl.SSLException;

/**
 * The TLS of one client: reads its files before each connection, and creates a new {@link TlsContext} if they have
 * changed.
 *
 * <p>Files are read on a thread of their own: a file system may hang, and a password supplier may block. The
 * certificates of nodes are checked on other threads, which end when they are idle. So a handshake delays no lock.
 *
 * @threading any thread
 */
public final class TlsContexts {

    /** A reading that lasts longer does not delay connections that can use the previous context. */
    private static final long READING_NS_MAX = 2_000_000_000L;
    private static final int HANDSHAKE_THREADS_MAX = 4;
    private static final int IDLE_THREAD_SECONDS = 5;

    private final TlsSpec spec;
    private final Executor handshakeTasks;
    private CompletableFuture<TlsContext> reading;
    private long readingSinceNs;
    /** The newest context that could be created, and the digest of its files. */
    private volatile TlsContext current;
    private volatile byte[] currentDigest;

    /** Reads nothing yet. */
    public TlsContexts(TlsSpec spec) {
        this.spec = spec;
        ThreadPoolExecutor tasks = new ThreadPoolExecutor(HANDSHAKE_THREADS_MAX, HANDSHAKE_THREADS_MAX,
                IDLE_THREAD_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), TlsContexts::newThread);
        tasks.allowCoreThreadTimeOut(true);
        this.handshakeTasks = tasks;
    }

    private static Thread newThread(Runnable task) {
        Thread thread = new Thread(task, "redlock-tls");
        thread.setDaemon(true);
        return thread;
    }

    /** @return whether a node's certificate must be for its host */
    public boolean areHostNamesVerified() {
        return spec.areHostNamesVerified();
    }

    /** Runs the parts of a handshake that take long. */
    Executor handshakeTasks() {
        return handshakeTasks;
    }

    /**
     * Passes on the context for a new connection.
     *
     * @param nowNs  monotonic time
     * @param answer receives the context and null, or null and the reason, one line; always called on the loop
     */
    public void forConnection(long nowNs, Executor loop, BiConsumer<TlsContext, String> answer) {
        startReading(nowNs).whenComplete((context, failure) -> {
            try {
                loop.execute(() -> answer.accept(context, failure == null ? null : textOf(failure)));
            } catch (RejectedExecutionException e) {
                // The loop has ended or is overloaded. The node's deadline then starts the next try.
            }
        });
    }

    private static String textOf(Throwable failure) {
        return failure instanceof TlsFileException ? failure.getMessage() : failure.toString();
    }

    /** Connections that are opened at the same time share one reading. */
    private synchronized CompletableFuture<TlsContext> startReading(long nowNs) {
        if (reading != null && !reading.isDone()) {
            long lastedNs = nowNs - readingSinceNs;
            return lastedNs < READING_NS_MAX || current == null
                    ? reading
                    : CompletableFuture.completedFuture(current.withProblem("reading the TLS files takes more than "
                            + READING_NS_MAX / 1_000_000_000 + " s, the previous ones are in use"));
        }
        CompletableFuture<TlsContext> result = new CompletableFuture<>();
        newThread(() -> read(result)).start();
        reading = result;
        readingSinceNs = nowNs;
        return result;
    }

    private void read(CompletableFuture<TlsContext> result) {
        try {
            result.complete(read());
        } catch (Throwable e) {
            // Later connections share this reading until it ends, so it ends whatever is thrown.
            TlsContext previous = current;
            if (previous == null) {
                result.completeExceptionally(e);
            } else {
                result.complete(previous.withProblem("the TLS files have changed and cannot be used, the previous ones"
                        + " are in use: " + textOf(e)));
            }
        }
    }

    private TlsContext read() throws TlsFileException {
        TlsFiles files = TlsFiles.read(spec);
        try {
            byte[] digest = files.digest();
            if (current == null || !Arrays.equals(digest, currentDigest)) {
                current = newContext(files);
                currentDigest = digest;
            }
            return current;
        } finally {
            files.clear();
        }
    }

    private TlsContext newContext(TlsFiles files) throws TlsFileException {
        boolean isOpenSsl = isOpenSsl();
        SslContextBuilder builder = SslContextBuilder.forClient()
                .sslProvider(isOpenSsl ? SslProvider.OPENSSL : SslProvider.JDK)
                .protocols(spec.protocols())
                .endpointIdentificationAlgorithm(spec.areHostNamesVerified() ? "HTTPS" : "")
                .trustManager(files.trust())
                .keyManager(files.identity());
        try {
            SslContext context = builder.build();
            // Loads the classes of engines here, not on the event loop.
            ReferenceCountUtil.release(context.newEngine(ByteBufAllocator.DEFAULT));
            return new TlsContext(context, isOpenSsl ? OpenSsl.versionString() : "JDK", null);
        } catch (SSLException | RuntimeException e) {
            throw new TlsFileException("TLS cannot be set up with these options: " + e);
        }
    }

    private boolean isOpenSsl() throws TlsFileException {
        if (spec.provider() == TlsProvider.JDK) {
            return false;
        }
        boolean isAvailable = OpenSsl.isAvailable();
        if (!isAvailable && spec.provider() == TlsProvider.OPENSSL) {
            Throwable cause = OpenSsl.unavailabilityCause();
            throw new TlsFileException("TlsProvider.OPENSSL cannot be used (" + cause
                    + "): add io.netty:netty-tcnative-boringssl-static for this platform, or use AUTO or JDK");
        }
        return isAvailable;
    }
}
