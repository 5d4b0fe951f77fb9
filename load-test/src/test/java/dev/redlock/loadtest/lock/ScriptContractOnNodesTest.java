package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.ScriptContract;
import dev.redlock.cli.AdminClient;
import dev.redlock.mutants.Mutant;
import dev.redlock.resp.RespValue;
import dev.redlock.sim.ScriptNames;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** The cases of the script contract on real servers: right scripts pass, and each wrong one is found. */
class ScriptContractOnNodesTest {

    @Nested
    class OnAServerFromThePath extends OnARealNode {
        OnAServerFromThePath() {
            super(Source.PATH);
        }
    }

    @Nested
    class OnAnEmbeddedServer extends OnARealNode {
        OnAnEmbeddedServer() {
            super(Source.EMBEDDED);
        }
    }

    /** Starts one server for all cases. */
    @TestInstance(TestInstance.Lifecycle.PER_CLASS)
    abstract static class OnARealNode {
        /** Reservations and some entries expire while a case uses them, if the machine is slow. */
        private static final long SLOW_NS = TimeUnit.MILLISECONDS.toNanos(15);
        private static final int TRIES_MAX = 20;

        private final Source source;
        private RedisNodes nodes;
        private AdminClient admin;

        OnARealNode(Source source) {
            this.source = source;
        }

        @BeforeAll
        void startNode() {
            nodes = RequiredNodes.start(new RedisNodesContext().source(source).count(1));
            admin = nodes.node(0).connect();
        }

        @AfterAll
        void stopNode() {
            if (nodes != null) {
                admin.close();
                nodes.close();
            }
        }

        @Test
        void everyScriptDoesWhatItsCommentSays() {
            for (String script : ScriptContract.scripts()) {
                check(script, ScriptNames.source(script));
            }
        }

        @Test
        void everyMutantIsFound() throws IOException {
            List<String> survivors = new ArrayList<>();
            for (Mutant mutant : Mutant.list("script-mutants.txt")) {
                if (mutant.isOfScript() && !isFound(mutant)) {
                    survivors.add(mutant.name());
                }
            }
            assertTrue(survivors.isEmpty(), () -> "survived: " + survivors);
        }

        private boolean isFound(Mutant mutant) {
            String script = mutant.killedBy().get(0);
            try {
                check(script, mutant.applyTo(ScriptNames.source(script)));
                return false;
            } catch (AssertionError e) {
                return true;
            }
        }

        /** Runs the cases of a script; again if they failed and took so long that keys may have expired. */
        private void check(String script, String text) {
            for (int left = TRIES_MAX;; left--) {
                Server server = new Server(script, text);
                try {
                    ScriptContract.run(script, server);
                    return;
                } catch (AssertionError e) {
                    if (server.longestNs < SLOW_NS || left == 0) {
                        throw e;
                    }
                }
            }
        }

        /** The server, with one script that may be wrong. */
        private final class Server implements ScriptContract.Server {
            private final String script;
            private final String text;
            private long longestNs;
            private long lastNs = System.nanoTime();

            Server(String script, String text) {
                this.script = script;
                this.text = text;
            }

            @Override
            public RespValue call(String... words) {
                try {
                    RespValue reply = admin.send(words);
                    long nowNs = System.nanoTime();
                    longestNs = Math.max(longestNs, nowNs - lastNs);
                    lastNs = nowNs;
                    return reply;
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
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

            private long serverMs() {
                List<RespValue> time = call("TIME").elements();
                return Long.parseLong(time.get(0).asText()) * 1_000 + Long.parseLong(time.get(1).asText()) / 1_000;
            }

            @Override
            public String source(String name) {
                return name.equals(script) ? text : ScriptNames.source(name);
            }
        }
    }
}
