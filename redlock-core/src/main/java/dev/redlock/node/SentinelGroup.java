package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.time.DeadlineTimer;
import dev.redlock.transport.NodeAddress;
import dev.redlock.transport.SentinelAddress;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;

/**
 * The Sentinels of one voter. It asks them in turn for the address of the primary, the last good one first, until one
 * answers, and keeps the connection to that one: a push, or a look at regular intervals, shows another primary.
 *
 * <p>A Sentinel that named a server which is no primary, or is not reachable, is asked last the next time. Only the
 * server itself shows its role. If no Sentinel can be reached, the client uses the server that it knows.
 *
 * @threading event-loop-confined
 */
final class SentinelGroup implements NodeConnector.Directory, SentinelLink.Listener {

    static final long LOOK_NS = 3_000 * NS_PER_MS;
    /** After the end of a connection. One that ends each time must not occupy the loop. */
    private static final long LOST_DELAY_NS = 250 * NS_PER_MS;
    /** Between two tries that start at once because of a push. */
    private static final long URGENT_NS = 1_000 * NS_PER_MS;

    private final SentinelAddress address;
    private final NodeContext context;
    private final NodeView view;
    private final List<SentinelLink> links = new ArrayList<>();
    final ConnectLimit limit;
    private final DeadlineTimer timer = new DeadlineTimer(this::look);
    /** Waits for the server; null unless it does. */
    private NodeConnector<?> asker;
    /** Gets later changes; null before the first question. */
    private NodeConnector<?> user;
    private int current;
    /** The Sentinels that have not answered in the present round, and why; null unless there is one. */
    private List<String> failures;
    private boolean isReached;
    /** The server that was named last; null before. */
    private NodeAddress known;
    /** The server that the connector uses. */
    private NodeAddress used;
    private boolean isKnownUnproven;
    private long urgentNs;
    /** The last time that the clock has shown. */
    private long knownNs;
    private boolean isClosed;

    SentinelGroup(int index, SentinelAddress address, NodeContext context, NodeView view) {
        this.address = address;
        this.context = context;
        this.view = view;
        this.limit = new ConnectLimit(context, "sentinel-" + index, "a Sentinel", address.servers());
        for (NodeAddress sentinel : address.servers()) {
            links.add(new SentinelLink(index, sentinel, address, context, limit, this));
        }
        this.knownNs = context.clock().nanoTime();
        this.urgentNs = knownNs - URGENT_NS;
    }

    // ---- for the connector ------------------------------------------------------------------------------------------

    @Override
    public void find(NodeConnector<?> newAsker) {
        asker = newAsker;
        user = newAsker;
        if (failures != null) {
            // A look is under way.
            return;
        }
        if (isKnownUnproven) {
            isKnownUnproven = false;
            turnToNext();
        }
        ask();
    }

    @Override
    public void cancel() {
        asker = null;
    }

    @Override
    public void onUsable() {
        isKnownUnproven = false;
    }

    @Override
    public void close() {
        isClosed = true;
        asker = null;
        failures = null;
        context.timers().stop(timer);
        links.forEach(SentinelLink::close);
        limit.close();
    }

    // ---- questions --------------------------------------------------------------------------------------------------

    private void look(long nowNs) {
        knownNs = nowNs;
        if (failures != null) {
            // A step of the round threw, as without memory: no answer comes.
            links.get(current).close();
        }
        ask();
    }

    private void ask() {
        // Also during a round, as its longest time.
        startTimer(links.size() * roundNs());
        failures = new ArrayList<>();
        isReached = false;
        links.get(current).ask();
    }

    private void turnToNext() {
        links.get(current).close();
        current = (current + 1) % links.size();
    }

    /** The longest time of a connect, a login and a question. */
    private long roundNs() {
        return (Authenticator.PROVIDER_TIMEOUT_MS + 3L * context.options().timeouts().connectTimeoutMs()) * NS_PER_MS;
    }

    private void startTimer(long delayNs) {
        try {
            knownNs = context.clock().nanoTime();
        } finally {
            // Also if the clock throws: the next look is early then.
            if (!isClosed) {
                context.timers().start(timer, knownNs + delayNs);
            }
        }
    }

    @Override
    public void onAnswer(SentinelLink link, NodeAddress primary) {
        if (isOld(link)) {
            return;
        }
        failures = null;
        startTimer(LOOK_NS);
        view.setDirectoryProblem(null);
        setKnown(link, primary);
        if (asker != null) {
            pass(primary);
        } else if (!primary.equals(used)) {
            user.onMoved(primary, textOf(link, primary), true);
        }
    }

    private boolean isOld(SentinelLink link) {
        return isClosed || failures == null || link != links.get(current);
    }

    private void setKnown(SentinelLink link, NodeAddress primary) {
        if (!primary.equals(known)) {
            view.log(Level.INFO, textOf(link, primary));
        }
        known = primary;
    }

    private String textOf(SentinelLink link, NodeAddress primary) {
        return "Sentinel " + link.address + " names the primary " + primary;
    }

    private void pass(NodeAddress primary) {
        NodeConnector<?> waiting = asker;
        asker = null;
        used = primary;
        isKnownUnproven = true;
        view.place.server = primary;
        waiting.onNamed(primary);
    }

    @Override
    public void onNoAnswer(SentinelLink link, String reason, boolean isReply) {
        if (isOld(link)) {
            return;
        }
        isReached |= isReply;
        failures.add(link.address + ": " + reason);
        if (failures.size() < links.size()) {
            turnToNext();
            links.get(current).ask();
        } else {
            onNone();
        }
    }

    private void onNone() {
        String problem = problem();
        failures = null;
        startTimer(LOOK_NS);
        boolean isKnownUsed = asker != null && known != null && !isReached;
        if (asker == null || isKnownUsed) {
            view.setDirectoryProblem(problem);
        }
        if (isKnownUsed) {
            // A failover that nobody reports is bounded as for a connection that lives.
            pass(known);
        } else if (asker != null) {
            NodeConnector<?> waiting = asker;
            asker = null;
            waiting.onNotNamed(problem);
        }
    }

    private String problem() {
        if (isReached && failures.stream().allMatch(text -> text.endsWith(SentinelLink.unknownNameText(address)))) {
            return "no Sentinel knows a primary " + address.name() + ": correct the name at the end of the address, or"
                    + " configure \"sentinel monitor " + address.name() + "\" on the Sentinels";
        }
        return "no Sentinel names the primary " + address.name() + ": " + String.join("; ", failures)
                + "; until one does, the client does not see a failover";
    }

    // ---- changes ----------------------------------------------------------------------------------------------------

    @Override
    public void onSwitch(SentinelLink link, NodeAddress primary) {
        if (isClosed || link != links.get(current)) {
            return;
        }
        setKnown(link, primary);
        isKnownUnproven = false;
        if (asker == null) {
            long nowNs = context.clock().nanoTime();
            boolean isUrgent = nowNs - urgentNs >= URGENT_NS;
            urgentNs = isUrgent ? nowNs : urgentNs;
            user.onMoved(primary, textOf(link, primary), isUrgent);
        }
    }

    @Override
    public void onLost(SentinelLink link) {
        if (failures == null && link == links.get(current)) {
            startTimer(LOST_DELAY_NS);
        }
    }

    @Override
    public void onNotSubscribed(SentinelLink link, String code) {
        view.log(Level.INFO, "Sentinel " + link.address + " refuses SUBSCRIBE: " + code + "; so a failover is seen up"
                + " to " + LOOK_NS / NS_PER_MS + " ms later; allow its user +subscribe +unsubscribe &+switch-master");
    }
}
