package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.node.send.CommandSender;
import dev.redlock.node.send.ErrorAdvice;
import dev.redlock.resp.RespValue;
import dev.redlock.time.DeadlineTimer;
import dev.redlock.transport.Login;
import io.netty.buffer.ByteBuf;

/**
 * Gets the login of each connection to one node, from the node's address or from the user's provider, and authenticates
 * a live connection again when its login asks for that.
 *
 * <p>The provider runs on a thread of its own, because it may block. There is at most one call at a time: a call that
 * exceeds its time limit is interrupted, and its result serves the next connection if it returns later.
 *
 * <p>A refused re-authentication leaves the connection as it is: the node still accepts its commands, and a new
 * connection with the same login would be rejected.
 *
 * @threading event-loop-confined
 */
final class Authenticator {

    /** A host name look-up may take as long. */
    static final long PROVIDER_TIMEOUT_MS = 10_000;
    private static final long REFRESH_RETRY_MS = 5_000;
    private static final String DEFAULT_USER = "default";

    /**
     * Gets the login of a new connection.
     *
     * @threading event-loop-confined
     */
    interface Listener {

        /** The connection may log in. The login belongs to the listener; null if the node needs none. */
        void onLogin(Login login);

        /** There is no login for the connection. */
        void onLoginFailed(String reason);
    }

    /**
     * The use of the next login.
     *
     * @threading immutable
     */
    private enum Use {
        NONE, CONNECTION, REFRESH
    }

    private final NodeContext context;
    /** Null if no connection authenticates again. */
    private final CommandSender sender;
    private final NodeView view;
    private final LoginSource source;
    private final Listener listener;
    private final DeadlineTimer timeoutTimer = new DeadlineTimer(nowNs -> onTimeout());
    private final DeadlineTimer refreshTimer = new DeadlineTimer(nowNs -> ask(Use.REFRESH));
    private Use use = Use.NONE;
    /** The call in progress; null if there is none. */
    private Call call;
    private long refreshAfterNs;
    /** Replies on an earlier connection do not count. */
    private int connectionNumber;

    /** The source is null if the address of the node has the login, if there is one. */
    Authenticator(NodeContext context, LoginSource source, CommandSender sender, NodeView view, Listener listener) {
        this.context = context;
        this.sender = sender;
        this.view = view;
        this.source = source;
        this.listener = listener;
    }

    /** A connection is open and needs a login. */
    void start() {
        if (source == null) {
            listener.onLogin(view.address().login());
        } else {
            ask(Use.CONNECTION);
        }
    }

    /** The handshake is complete. */
    void onHandshake() {
        startRefreshTimer();
    }

    /** The connection has ended, or is not needed for longer. */
    void stop() {
        connectionNumber++;
        use = Use.NONE;
        refreshAfterNs = 0;
        context.timers().stop(timeoutTimer);
        context.timers().stop(refreshTimer);
        view.setRefreshProblem(null);
    }

    /** There is no further connection. */
    void close() {
        stop();
        if (call != null) {
            call.interrupt();
        }
    }

    // ---- the provider -----------------------------------------------------------------------------------------------

    private void ask(Use newUse) {
        use = newUse;
        context.timers().start(timeoutTimer, nowNs() + PROVIDER_TIMEOUT_MS * NS_PER_MS);
        if (call == null || call.isUnreported) {
            startCall();
        }
    }

    private void startCall() {
        call = new Call();
        try {
            call.start();
        } catch (RuntimeException | Error e) {
            // For example, there is no thread for the call. The next try may succeed.
            call = null;
            fail("the credentials provider cannot be called: " + e);
        }
    }

    private void onReturned(Call ended, Login login, String problem) {
        if (call != ended) {
            clear(login);
            return;
        }
        call = null;
        if (use == Use.NONE) {
            clear(login);
        } else if (problem != null && ended.isInterrupted) {
            // It failed because it was interrupted, and this connection has not had its own call.
            startCall();
        } else if (problem != null) {
            clear(login);
            fail(problem);
        } else {
            onLogin(login);
        }
    }

    private static void clear(Login login) {
        if (login != null) {
            login.clear();
        }
    }

    private void onLogin(Login login) {
        context.timers().stop(timeoutTimer);
        boolean isRefresh = use == Use.REFRESH;
        use = Use.NONE;
        refreshAfterNs = login.refreshAfterNs();
        if (isRefresh) {
            refresh(login);
        } else {
            listener.onLogin(login);
        }
    }

    private void onTimeout() {
        if (call != null && call.isUnreported) {
            fail("there was no memory for the result of the credentials provider");
            return;
        }
        if (call != null) {
            call.interrupt();
        }
        fail("the credentials provider has not returned for " + PROVIDER_TIMEOUT_MS
                + " ms; limit the time of its own requests");
    }

    private void fail(String reason) {
        context.timers().stop(timeoutTimer);
        boolean isRefresh = use == Use.REFRESH;
        use = Use.NONE;
        if (isRefresh) {
            onRefreshFailed(reason);
        } else {
            listener.onLoginFailed(reason);
        }
    }

    // ---- a live connection ------------------------------------------------------------------------------------------

    private void startRefreshTimer() {
        if (refreshAfterNs > 0) {
            context.timers().start(refreshTimer, nowNs() + refreshAfterNs);
        }
    }

    private void refresh(Login login) {
        int number = connectionNumber;
        ByteBuf auth = authCommand(login, true);
        login.clear();
        boolean isSent = sender.sendValue(auth, reply -> {
            if (reply != null && number == connectionNumber) {
                onRefreshed(reply);
            }
        });
        if (!isSent) {
            onRefreshFailed("there is no memory for the command");
        }
    }

    private void onRefreshed(RespValue reply) {
        if (reply.isError()) {
            onRefreshFailed(
                    ErrorAdvice.codeOf(reply.asText()) + "; check the user and the password that the credentials"
                            + " provider returns");
        } else {
            view.clearRefreshProblem();
            startRefreshTimer();
        }
    }

    private void onRefreshFailed(String reason) {
        view.setRefreshProblem("re-authentication failed, the connection keeps its last login: " + reason);
        long halfNs = REFRESH_RETRY_MS * NS_PER_MS / 2;
        context.timers().start(refreshTimer, nowNs() + halfNs + context.platform().random().nextLong(halfNs + 1));
    }

    private long nowNs() {
        return context.clock().nanoTime();
    }

    /** {@code AUTH [user] password}; null if there is no memory for it. The login is borrowed. */
    static ByteBuf authCommand(Login login, boolean isUserKnown) {
        return login.user() == null && !isUserKnown
                ? SecretBuffer.ofCommand("AUTH", login.password())
                : SecretBuffer.ofCommand("AUTH", userOf(login), login.password());
    }

    static String userOf(Login login) {
        return login.user() == null ? DEFAULT_USER : login.user();
    }

    /**
     * One call of the provider.
     *
     * @threading event-loop-confined, except {@link #run}
     */
    private final class Call implements Runnable {
        private final String address = view.address().toString();
        private final Thread thread = context.platform().transport().newThread("redlock-credentials-" + address, this);
        private boolean isInterrupted;
        /** It has ended, and the event loop will not hear of it. */
        private volatile boolean isUnreported;

        void start() {
            thread.start();
        }

        void interrupt() {
            isInterrupted = true;
            thread.interrupt();
        }

        @Override
        public void run() {
            Login login = null;
            try {
                String problem;
                try {
                    login = source.login(address);
                    problem = problemOf(login);
                } catch (Throwable e) {
                    // Its message may contain a secret.
                    problem = "the credentials provider threw " + e.getClass().getName()
                            + "; its message is not shown because it may contain a secret, so log it in the provider";
                }
                report(login, problem);
            } catch (Throwable e) {
                // The loop has ended, and nobody needs the login; or there is no memory for the report.
                clear(login);
                isUnreported = true;
            }
        }

        private static String problemOf(Login login) {
            if (login == null) {
                return "the credentials provider returned null; return Credentials, or throw an exception";
            }
            String rule = login.problem();
            return rule == null ? null : "the credentials provider returned wrong Credentials: " + rule;
        }

        private void report(Login login, String problem) {
            context.platform().loop().execute(() -> onReturned(this, login, problem));
        }
    }
}
