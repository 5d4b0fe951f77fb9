package dev.redlock.loadtest.lock;

import dev.redlock.cli.AdminClient;
import dev.redlock.contract.ScriptContract;
import dev.redlock.mutants.ScriptMutations;
import dev.redlock.mutants.ScriptMutations.Mutation;
import dev.redlock.resp.RespValue;
import dev.redlock.sim.ScriptNames;
import dev.redlock.testing.RawConnection;
import dev.redlock.trial.nodes.Data;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** One real server, on which scripts are judged, right and wrong ones. */
final class ScriptBench implements AutoCloseable {

    /** Reservations and some entries expire while a case uses them, if the machine is slow. */
    private static final long SLOW_NS = TimeUnit.MILLISECONDS.toNanos(15);
    private static final int TRIES_MAX = 20;
    private static final String MESSAGE = "push message ";
    /** After this time a server lets another connection end a script. */
    private static final String SCRIPT_MS_MAX = "500";

    private final RedisNodes nodes;
    private final RedisNode node;
    private ScriptDenials denials;
    private AdminClient admin;
    /** A connection with the subscriptions of a case; null if there is none. */
    private RawConnection subscriber;

    ScriptBench(Source source) {
        nodes = RequiredNodes.start(new RedisNodesContext().source(source).count(1));
        node = nodes.node(0);
        connect();
    }

    private void connect() {
        admin = node.connect();
        denials = new ScriptDenials(node);
        send(admin, "CONFIG", "SET", "lua-time-limit", SCRIPT_MS_MAX);
    }

    private void disconnect() {
        denials.close();
        if (subscriber != null) {
            subscriber.close();
            subscriber = null;
        }
        admin.close();
    }

    @Override
    public void close() {
        disconnect();
        nodes.close();
    }

    private static RespValue send(AdminClient client, String... words) {
        try {
            return client.send(words);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Runs the cases of a script; again if they failed and took so long that keys may have expired. */
    void check(String script, String text) {
        passesInTime(script, text);
    }

    /** Whether the cases passed without a delay; fails as {@link #check} does. */
    private boolean passesInTime(String script, String text) {
        for (int left = TRIES_MAX;; left--) {
            Server server = new Server(script, text);
            try {
                ScriptContract.run(script, server);
                denials.check(script, text);
                return !server.isSlow();
            } catch (AssertionError e) {
                if (!server.isSlow() || left == 0) {
                    throw e;
                }
            }
        }
    }

    /** A delay may also let a wrong script pass: what it leaves alone expires, and another command removes it. */
    boolean isFound(String script, String text) {
        try {
            boolean isJudged = false;
            for (int left = TRIES_MAX; !isJudged && left > 0; left--) {
                isJudged = passesInTime(script, text);
            }
            return false;
        } catch (AssertionError | IllegalStateException e) {
            return true;
        } catch (UncheckedIOException e) {
            endScript();
            return true;
        }
    }

    /** The script never ends. One that has written something ends only with its server. */
    private void endScript() {
        disconnect();
        boolean isEnded;
        try (AdminClient other = node.connect()) {
            isEnded = !send(other, "SCRIPT", "KILL").isError();
        }
        if (!isEnded) {
            node.restart(Data.LOST);
        }
        connect();
    }

    /** The wrong variants that no case finds and that {@code script-survivors.txt} does not have. */
    List<String> survivors(Stream<Mutation> mutations) {
        Map<String, Set<String>> scripts = ScriptMutations.scripts();
        return mutations.filter(mutation -> !mutation.isKnownSurvivor())
                .flatMap(mutation -> scripts.entrySet()
                        .stream()
                        .filter(script -> script.getValue().contains(mutation.file()))
                        .filter(script -> isSurvivor(script.getKey(), mutation))
                        .map(script -> script.getKey() + " with " + mutation))
                .toList();
    }

    private boolean isSurvivor(String script, Mutation mutation) {
        String text = mutation.applyTo(script);
        return !send(admin, "SCRIPT", "LOAD", text).isError() && !isFound(script, text);
    }

    /** The server, with one script that may be wrong. */
    private final class Server implements ScriptContract.Server {
        private final String script;
        private final String text;
        private long longestNs;
        private long second;
        private long lastNs = System.nanoTime();

        Server(String script, String text) {
            this.script = script;
            this.text = text;
        }

        @Override
        public RespValue call(String... words) {
            RespValue reply = send(admin, words);
            long nowNs = System.nanoTime();
            longestNs = Math.max(longestNs, nowNs - lastNs);
            lastNs = nowNs;
            return reply;
        }

        @Override
        public void subscribe(List<String> channels) {
            if (subscriber != null) {
                subscriber.close();
            }
            subscriber = new RawConnection(node.address().port());
            List<String> words = new ArrayList<>(List.of("SUBSCRIBE"));
            words.addAll(channels);
            subscriber.run(List.of("HELLO", "3"));
            if (!channels.isEmpty()) {
                subscriber.run(words);
            }
            // The server may not have seen the end of the previous connection.
            while (send(admin, "PUBSUB", "CHANNELS").elements().size() != channels.size()) {
                Thread.onSpinWait();
            }
            lastNs = System.nanoTime();
        }

        @Override
        public List<String> messages() {
            List<String> received = subscriber.run()
                    .stream()
                    .filter(text -> text.startsWith(MESSAGE))
                    .map(text -> text.substring(MESSAGE.length()))
                    .toList();
            lastNs = System.nanoTime();
            return received;
        }

        boolean isSlow() {
            return longestNs >= SLOW_NS;
        }

        /** Waits for the clock of the server. */
        @Override
        public void pass(long ms) {
            long untilMs = serverMs() + ms;
            while (serverMs() < untilMs) {
                Thread.onSpinWait();
            }
            lastNs = System.nanoTime();
        }

        /** The script gets the number in place of the clock. */
        @Override
        public void clock(long newSecond) {
            second = newSecond;
        }

        private long serverMs() {
            List<RespValue> time = call("TIME").elements();
            return Long.parseLong(time.get(0).asText()) * 1_000 + Long.parseLong(time.get(1).asText()) / 1_000;
        }

        @Override
        public String source(String name) {
            String source = name.equals(script) ? text : ScriptNames.source(name);
            return second == 0 ? source : source.replace("redis.call('TIME')[1]", "'" + second + "'");
        }
    }
}
