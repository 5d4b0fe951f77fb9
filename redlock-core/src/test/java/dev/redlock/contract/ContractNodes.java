package dev.redlock.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.testing.Await;
import dev.redlock.testing.NodeAccess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;

/** The nodes, the clients and the name of the resource of a test of a contract. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
public abstract class ContractNodes {

    static final Duration LONG = Duration.ofSeconds(20);
    private static final AtomicInteger RUN = new AtomicInteger();

    private final List<Redlock> clients = new ArrayList<>();
    String resource;

    /** @return addresses of the nodes, three or more, all up */
    protected abstract String[] addresses();

    /** Connects a client; {@code Redlock.connect(context)} on real nodes. */
    protected abstract Redlock connect(RedlockContext context);

    /** @return access to the keys of one node, by its index in {@link #addresses} */
    protected abstract NodeAccess node(int index);

    /** @return whether a refusal contains the ttl of the holder's key: not in native mode */
    protected boolean isRemainingTtlReported() {
        return true;
    }

    /** @return whether the values of the locks of {@link #context} contain the client's name */
    protected boolean isNamed() {
        return false;
    }

    /** @return whether clients of {@link #context} ask a quorum first */
    protected boolean isThrifty() {
        return false;
    }

    final String label() {
        return isNamed() ? "@contract-7'\"{x}" : "";
    }

    /** @return a context over the nodes, with a generous node timeout, because test machines are slow at times */
    protected RedlockContext context() {
        return new RedlockContext().nodes(addresses())
                .restartGuard(RestartGuardMode.OFF)
                .clientName(isNamed() ? label().substring(1) : "redlock")
                .nameInValues(isNamed())
                .thriftyQuorums(isThrifty())
                .nodeTimeout(Duration.ofSeconds(2))
                .defaultWait(Duration.ofSeconds(10));
    }

    @BeforeEach
    void nameResource() {
        resource = "contract/" + ProcessHandle.current().pid() + "/" + RUN.incrementAndGet();
    }

    @AfterEach
    void closeClients() {
        clients.forEach(Redlock::close);
        deleteEverywhere(resource);
    }

    final void deleteEverywhere(String key) {
        for (int i = 0; i < voterCount(); i++) {
            node(i).delete(key);
        }
    }

    final int voterCount() {
        return addresses().length;
    }

    final int quorum() {
        return voterCount() / 2 + 1;
    }

    final Redlock client() {
        return client(context());
    }

    final Redlock client(RedlockContext context) {
        Redlock client = connect(context);
        clients.add(client);
        Await.until(() -> "all nodes ready: " + client.nodes(),
                () -> client.nodes().stream().allMatch(node -> node.state() == NodeState.READY));
        return client;
    }

    final Set<String> tokensOf(String key) {
        Set<String> tokens = new HashSet<>();
        for (int i = 0; i < voterCount(); i++) {
            String token = node(i).get(key);
            if (token != null) {
                tokens.add(token);
            }
        }
        return tokens;
    }

    final int keyCount(String key) {
        int count = 0;
        for (int i = 0; i < voterCount(); i++) {
            count += node(i).get(key) == null ? 0 : 1;
        }
        return count;
    }

    final void awaitNoKey() {
        Await.until(() -> keyCount(resource) + " keys of " + resource + " are left", () -> keyCount(resource) == 0);
    }

    /** Awaits the keys of an acquire. */
    final void awaitKeys() {
        awaitKeys(lockedCount());
    }

    /** The number of nodes that an acquire locks; a thrifty one may lock more. */
    final int lockedCount() {
        return isThrifty() ? quorum() : voterCount();
    }

    final void awaitKeys(int count) {
        Await.until(() -> keyCount(resource) + " keys of " + resource + " instead of " + count,
                () -> keyCount(resource) >= count);
    }

    static Lease acquired(AcquireOutcome outcome) {
        assertEquals(AcquireOutcome.Kind.ACQUIRED, outcome.kind(), outcome::toString);
        return outcome.lease();
    }
}
