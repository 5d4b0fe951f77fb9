package dev.redlock.spring;

import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.api.LocalLocks;
import dev.redlock.api.LockInspection;
import dev.redlock.api.NodeState;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.resp.SafeText;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.security.Principal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.lang.Nullable;

/**
 * The nodes of the client, the locks that it holds and awaits, and the holder of a lock. Nothing that it shows permits
 * a release, or has a user or a password. It breaks a lock only if the operator permits all access to the endpoint.
 *
 * <p>Each call takes at most two seconds.
 *
 * @threading any thread but the event loops
 */
@Endpoint(id = "redlock", defaultAccess = Access.READ_ONLY)
final class RedlockEndpoint {

    private static final Logger LOG = System.getLogger("dev.redlock");
    private static final int COUNT_DEFAULT = 100;
    private static final int COUNT_MAX = 10_000;
    private static final String ID_FORM = "[0-9a-f]{8}";

    private final Redlock redlock;

    RedlockEndpoint(Redlock redlock) {
        this.redlock = redlock;
    }

    /**
     * The client.
     *
     * @param waiting the locks for which calls wait
     * @threading immutable
     */
    record Client(boolean quorumAvailable, boolean degraded, int toleratedFailures, String transport, List<Node> nodes,
            boolean locksComplete, int heldCount, List<Held> held, int waitingCount, List<Waiting> waiting) {
    }

    /**
     * A node, over one event loop.
     *
     * @param server         the address of the server, if the node fails over
     * @param roundTripUs    microseconds of the last round trip; null before the first
     * @param votesAgainInMs milliseconds until the end of its quarantine; null if it is in none
     * @threading immutable
     */
    record Node(String address, String server, NodeState state, String problem, String failingCode, Long roundTripUs,
            Long votesAgainInMs) {

        static Node of(NodeStatus node) {
            String server = node.serverAddress();
            return new Node(node.address(), node.address().equals(server) ? null : server, node.state(),
                    node.problem(), node.failingCode(), unlessZero(TimeUnit.NANOSECONDS.toMicros(node.roundTripNs())),
                    unlessZero(TimeUnit.NANOSECONDS.toMillis(node.votesAgainInNs())));
        }

        private static Long unlessZero(long number) {
            return number == 0 ? null : number;
        }
    }

    /**
     * A lock that the client holds; see {@link LocalLocks.Held}.
     *
     * @threading immutable
     */
    record Held(String resource, LocalLocks.Kind kind, long ageMs, long remainingMs, Long fencingToken,
            String thread) {

        static Held of(LocalLocks.Held lock) {
            return new Held(lock.resource(), lock.kind(), TimeUnit.NANOSECONDS.toMillis(lock.ageNs()),
                    TimeUnit.NANOSECONDS.toMillis(lock.remainingNs()), Node.unlessZero(lock.fencingToken()),
                    lock.thread());
        }
    }

    /**
     * A lock for which calls wait.
     *
     * @threading immutable
     */
    record Waiting(String resource, LocalLocks.Kind kind, int count, long longestMs) {

        static Waiting of(LocalLocks.Waiting lock) {
            return new Waiting(lock.resource(), lock.kind(), lock.count(),
                    TimeUnit.NANOSECONDS.toMillis(lock.longestNs()));
        }
    }

    /**
     * A lock on all nodes.
     *
     * @param heldBy the id of the value that a quorum of nodes has; null for none
     * @threading immutable
     */
    record Lock(String resource, String heldBy, List<Key> nodes) {
    }

    /**
     * The key of a lock on one node; see {@link LockInspection.Entry}.
     *
     * @param remainingTtlMs null if there is no key
     * @threading immutable
     */
    record Key(String address, LockInspection.Kind kind, Long remainingTtlMs, String id, String clientName,
            String problem) {

        static Key of(String address, LockInspection.Entry entry) {
            boolean hasTtl = entry.problem() == null && entry.kind() != LockInspection.Kind.FREE;
            return new Key(address, entry.kind(), hasTtl ? entry.remainingTtlMs() : null, entry.id(),
                    entry.clientName(), entry.problem());
        }
    }

    /**
     * A lock after an attempt to break it.
     *
     * @threading immutable
     */
    record Broken(String resource, String id, ReleaseOutcome outcome) {
    }

    /**
     * Shows the client.
     *
     * @param max held locks and locks with waiters to show, at most so many of each; 100 if it is null
     */
    @ReadOperation
    Client client(@Nullable Integer max) {
        int countMax = max == null ? COUNT_DEFAULT : max;
        if (countMax < 0 || countMax > COUNT_MAX) {
            throw new InvalidEndpointRequestException("max " + countMax + " is out of range: 0 to " + COUNT_MAX,
                    "max is out of range");
        }
        LocalLocks locks = uninterrupted(() -> redlock.localLocks(countMax));
        return new Client(redlock.isQuorumAvailable(), redlock.isDegraded(), redlock.toleratedFailureCount(),
                redlock.transportDescription(), redlock.nodes().stream().map(Node::of).toList(), locks.isComplete(),
                locks.heldCount(), locks.held().stream().map(Held::of).toList(), locks.waitingCount(),
                locks.waiting().stream().map(Waiting::of).toList());
    }

    /** Shows the keys of a lock on all nodes. Its name may contain slashes. */
    @ReadOperation
    Lock lock(@Selector(match = Selector.Match.ALL_REMAINING) String[] resource) {
        String name = String.join("/", resource);
        LockInspection inspection = uninterrupted(() -> redlock.inspect(name));
        List<String> addresses = addresses();
        List<Key> keys = new ArrayList<>();
        for (int i = 0; i < inspection.nodes().size(); i++) {
            keys.add(Key.of(addresses.get(i), inspection.nodes().get(i)));
        }
        return new Lock(name, inspection.heldBy(), keys);
    }

    /** By the index of the node; the servers of a cluster share one. */
    private List<String> addresses() {
        List<NodeStatus> nodes = redlock.nodes();
        int count = nodes.stream().mapToInt(NodeStatus::index).max().orElse(-1) + 1;
        List<String> addresses = new ArrayList<>(Collections.nCopies(count, null));
        nodes.forEach(node -> addresses.set(node.index(), node.address()));
        return addresses;
    }

    /**
     * Frees a lock whose holder is stuck, and logs who has done so.
     *
     * @param id from {@link #lock}: if another holder has it now, the lock stays
     */
    @DeleteOperation
    Broken breakLock(@Selector(match = Selector.Match.ALL_REMAINING) String[] resource, String id,
            SecurityContext caller) {
        if (!id.matches(ID_FORM)) {
            throw new InvalidEndpointRequestException("id \"" + SafeText.of(id) + "\" is malformed: give the eight"
                    + " hexadecimal digits that a read of the lock shows", "id is malformed");
        }
        String name = String.join("/", resource);
        Principal principal = caller.getPrincipal();
        String attempt = "the endpoint redlock breaks the lock \"" + SafeText.of(name) + "\" of the value with id " + id
                + ", asked by " + (principal == null ? "a caller without a name" : SafeText.of(principal.getName()));
        LOG.log(Level.WARNING, attempt);
        ReleaseOutcome outcome = uninterrupted(() -> redlock.breakLock(name, id));
        LOG.log(Level.WARNING, attempt + ": " + outcome);
        return new Broken(name, id, outcome);
    }

    /**
     * A call that blocks for a limited time.
     *
     * @threading caller-confined
     */
    @FunctionalInterface
    private interface Call<T> {
        T run() throws InterruptedException;
    }

    private static <T> T uninterrupted(Call<T> call) {
        try {
            return call.run();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while the nodes or the event loops were asked", e);
        } catch (IllegalArgumentException e) {
            throw new InvalidEndpointRequestException(e.getMessage(), "the name of the lock is invalid");
        }
    }
}
