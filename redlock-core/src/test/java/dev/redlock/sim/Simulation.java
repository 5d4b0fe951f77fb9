package dev.redlock.sim;

import dev.redlock.api.RestartGuardMode;
import dev.redlock.sim.SimPlan.Fault;
import dev.redlock.spec.Step;
import java.io.PrintStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * One run: clients with workers on model nodes in virtual time, random faults, checks after every event. The same plan
 * gives the same run, event by event; {@link #traceHash} identifies a run.
 */
public final class Simulation {

    private static final long MS = 1_000_000;
    private static final int TRACE_LINES_KEPT = Integer.getInteger("sim.lines", 400);
    private static final int VIOLATIONS_MAX = 10;

    private static final List<String> SCRIPTS = List.of("acquire", "release", "extend", "extend_many",
            "acquire_fenced", "raise",
            "release_fenced", "acquire_set", "release_set", "extend_set", "acquire_fenced_set", "acquire_read",
            "release_read", "extend_read", "acquire_write", "release_write", "find_permit");

    final SimPlan plan;
    final VirtualWorld world;
    final SimHistory history;
    private final SplittableRandom random;
    private final List<SimClient> clients = new ArrayList<>();
    private final List<String> violations = new ArrayList<>();
    private final ArrayDeque<TraceLine> trace = new ArrayDeque<>();
    private final Map<String, Integer> counts = new TreeMap<>();
    private final List<Set<String>> releasedTokens = new ArrayList<>();
    private final Map<String, List<Fenced>> fencingTokens = new TreeMap<>();
    private final List<Closing> closings = new ArrayList<>();
    private final List<Kept> kept = new ArrayList<>();
    final SimReleases releases = new SimReleases(this);
    /** The workers that may use their resources now. */
    private final List<SimWorker> inside = new ArrayList<>();
    private final List<String> flightRecords = new ArrayList<>();
    private boolean isFlightRecordWanted;
    private long traceHash = 17;
    private final List<String> lockNames;
    private final SimWaiters waiters;
    private final SimTurns turns;
    private long traceCount;
    private Consumer<String> traceListener = line -> {
    };
    final SimGrants grants;
    final SimRefusals refusals;
    private final SimClocks clocks;
    private final long[] smallStepsNs;
    private long logThrowsUntilNs;
    private long lastJumpNs;
    private int clientNames;
    /** Null unless nodes fail over. */
    private SimFailovers failovers;
    /** Null if the run is not written as steps. */
    private StepTrace steps;
    private boolean hasJumped;
    /** The sum of all backward steps of all clocks: keys live longer by this time at most. */
    private long setBackMs;
    private boolean isQuiescing;
    private boolean isOver;

    private record TraceLine(long number, long atNs, String text) {
        @Override
        public String toString() {
            return String.format("%6d %12.3f ms  %s", number, atNs / 1e6, text);
        }
    }

    /** A fencing token and the time of its decision. */
    private record Fenced(long token, long decidedNs) {
    }

    /** A lock that stays until a time. */
    private record Kept(String resource, boolean isReading, String client, String token, long sinceNs,
            long untilNs) {
    }

    private record Closing(SimClient client, long startNs, long pausedBeforeNs, Runnable closed) {
    }

    public Simulation(SimPlan plan) {
        this.plan = plan;
        this.random = new SplittableRandom(plan.seed);
        this.world = new VirtualWorld(plan.serverCount());
        this.history = new SimHistory(world);
        this.clocks = new SimClocks(plan.nodeCount, plan.maxTtlMs,
                plan.guard == RestartGuardMode.FRESH_GROUP);
        this.grants = new SimGrants(plan.nodeCount);
        this.refusals = new SimRefusals(plan.nodeCount);
        this.smallStepsNs = new long[plan.nodeCount];
        for (int i = 0; i < plan.serverCount(); i++) {
            setUpServer(i);
        }
        this.failovers = plan.isFailingOver() ? new SimFailovers(this, random.split()) : null;
        for (int i = 0; i < plan.clientCount; i++) {
            newClient();
        }
        this.lockNames = lockNames();
        this.waiters = new SimWaiters(this, lockNames);
        this.turns = new SimTurns(plan);
        world.observer(this::check);
    }

    private void setUpServer(int server) {
        FakeNode node = world.node(server);
        // A node that fails over has two servers.
        int index = server % plan.nodeCount;
        Set<String> released = new HashSet<>();
        releasedTokens.add(released);
        node.executeLate(plan.isLateExecuted);
        node.redis().shortening(plan.isShorteningOnNodes);
        node.redis().trackedKeysMax(plan.trackedKeysMax);
        node.redis().expiryListener(token -> grants.onExpired(index, token, clocks.jumpedNs(index)));
        node.redis().extensionListener((client, key) -> refusals.onExtensionPushed(index, nameOf(client), key));
        node.redis().activeExpiry(() -> plan.activeExpiryMsMax < 0 ? -1 : random.nextInt(plan.activeExpiryMsMax + 1));
        if (plan.isFreshAtStart) {
            node.redis().uptime(0);
        }
        usualDelay(node);
        if (server < plan.kinds.size()) {
            node.redis().kind(plan.kinds.get(server));
        }
        node.timeListener(link -> {
            long executedNs = world.nowNs();
            long steppedMs = clocks.steppedMs(index);
            String process = node.redis().runId();
            return () -> onTimeReply(link, index, process, executedNs, steppedMs);
        });
        node.redis().listener((client, command, reply) -> onExecuted(index, released, client, command, reply));
    }

    private void usualDelay(FakeNode node) {
        int usMax = plan.delayUsMax;
        node.delay(() -> 10_000 + random.nextInt(usMax) * 1000L);
    }

    private void newClient() {
        clients.add(new SimClient(this, "client-" + clientNames++, random.split()));
        if (steps != null) {
            addToSteps(clients.get(clients.size() - 1));
        }
    }

    // ---- events of the parts ---------------------------------------------------------------------------------------

    /** On one connection, no command of a token, which may have a name, is executed after its release. */
    private void onExecuted(int index, Set<String> released, String client, String command, String reply) {
        int keyEnd = command.indexOf(' ', command.indexOf(' ') + 1);
        String what = command.substring(0, keyEnd);
        String token = command.substring(keyEnd + 1);
        trace("node " + index + " " + what + " " + token.hashCode() + " -> " + reply);
        grants.onExecuted(index, command.substring(0, command.indexOf(' ')), token, Long.parseLong(reply),
                world.nowNs(), plan.isThrifty(nameOf(client)));
        if (command.startsWith("extend ") && reply.equals("2")) {
            count("SET_AGAIN");
        }
        if (command.startsWith("release")) {
            released.add(token);
        } else if (released.contains(token) && !command.startsWith("raise")
                && !command.startsWith("shorten") && !plan.isLate()) {
            violate("node " + index + " executed " + what + " after the release of its token");
        }
    }

    /** A worker has got its lock: in a crowd without faults, it has passed others only so often. */
    void onTurn(SimWorker worker) {
        boolean isGivingWay = plan.localHandoffsMax > 0;
        if (!plan.isCrowded || !isGivingWay || !plan.isEachPushSentOnce()) {
            return;
        }
        List<SimWorker> others = clients.stream()
                .filter(client -> !client.isGone())
                .flatMap(client -> client.workers().stream())
                .filter(other -> other.resource.equals(worker.resource))
                .toList();
        turns.onGrant(worker, others).forEach(passed -> violate(worker + " has passed " + passed + " again and again"));
    }

    /** A local channel reads no more after this: the client gets replies again when it has connected again. */
    void onReadFailed() {
        clients.stream().filter(client -> client.process().isBusy()).forEach(SimClient::onReadFailed);
    }

    /** The name of the client of a connection. */
    private static String nameOf(String link) {
        return link.substring(link.lastIndexOf('/') + 1);
    }

    /** A paused client reads the reply after it resumes, and a client in the middle of a turn after that turn. */
    private void onTimeReply(String link, int index, String process, long executedNs, long steppedMs) {
        for (SimClient client : clients) {
            if (client.process().isNamed(link)) {
                client.whenIdle(() -> {
                    if (client.isWithoutMemory()) {
                        clocks.onDoubtfulTimeReply(client.name(), index, steppedMs, world.nowNs());
                    } else {
                        clocks.onTimeReply(client.name(), index, process, executedNs, steppedMs, world.nowNs());
                    }
                });
            }
        }
    }

    void trace(String line) {
        if (isOver) {
            return;
        }
        traceHash = traceHash * 1_000_003 + world.nowNs() * 31 + line.hashCode();
        traceListener.accept(line);
        trace.addLast(new TraceLine(traceCount++, world.nowNs(), line));
        if (trace.size() > TRACE_LINES_KEPT) {
            trace.removeFirst();
        }
    }

    void count(String what) {
        if (!isOver) {
            counts.merge(what, 1, Integer::sum);
        }
    }

    void violate(String what) {
        if (!isOver && violations.size() < VIOLATIONS_MAX) {
            violations.add(String.format("at %.3f ms: %s", world.nowNs() / 1e6, what));
            trace("VIOLATION " + what);
        }
    }

    /** Whether a client retains a lock that no local lease has. It is free only if a push can revoke it. */
    boolean isRetained(String resource) {
        if (plan.retainTenths > 0 && plan.isEveryPushSent() && !resource.contains(":redlock:")) {
            for (SimClient client : clients) {
                if (!client.isGone() && client.process().engine().engine().isRetained(resource)) {
                    return true;
                }
            }
        }
        return false;
    }

    boolean isQuiescing() {
        return isQuiescing;
    }

    /** A worker whose process lost a lock sometimes releases the other locks of that process. */
    void onLost(SimWorker loser) {
        if (random.nextInt(3) == 0) {
            // A release may take so long that clients end meanwhile.
            for (SimClient client : List.copyOf(clients)) {
                if (client.workers().contains(loser)) {
                    client.workers().stream().filter(worker -> worker != loser).forEach(SimWorker::onOtherLeaseLost);
                }
            }
        }
    }

    /**
     * Each fencing token is greater than all tokens of its resource that were decided before its acquire started, and
     * no token repeats, as long as no node loses its counter. Without overlapping holders, tokens grow in the order of
     * the decisions; two holders may overlap until a clock jump is detectable.
     */
    void onFenced(SimWorker worker, long fencingToken, long startNs) {
        trace(worker.name + " fencing token " + fencingToken);
        count("FENCED");
        for (String resource : worker.resources()) {
            checkFenced(worker, fencingToken, startNs, fencingTokens.computeIfAbsent(resource, r -> new ArrayList<>()));
        }
    }

    private void checkFenced(SimWorker worker, long fencingToken, long startNs, List<Fenced> all) {
        boolean isOverlapPossible = plan.isGrantOrderOpen();
        for (Fenced before : plan.isDataLost() ? List.<Fenced>of() : all) {
            boolean isBefore = !isOverlapPossible || before.decidedNs - startNs < 0;
            if (before.token == fencingToken || isBefore && before.token > fencingToken) {
                violate(worker + " got fencing token " + fencingToken + " after " + before.token);
            }
        }
        all.add(new Fenced(fencingToken, world.nowNs()));
    }

    /** The lock of a released lease stays: until its time, nobody else holds it. */
    void onKept(SimWorker worker, long untilNs) {
        if (plan.isAnyOf(Fault.CLOCK_FORWARD, Fault.REBOOT_KEEP, Fault.SUSPEND_CLIENT)) {
            // Keys may expire early.
            return;
        }
        count("KEPT_CHECKED");
        for (String resource : worker.resources()) {
            kept.add(new Kept(resource, worker.isReading(), worker.client.name(), worker.token(), worker.sinceNs(),
                    untilNs));
        }
    }

    /** A lock or an extension needs a quorum of nodes that have granted it since a moment. */
    void checkGranted(SimWorker worker, long since) {
        int count = grants.heldCount(worker.token(), since);
        if (!grants.isQuorum(count)) {
            violate(worker + " holds by " + count + " of " + plan.nodeCount + " nodes");
        }
    }

    /** If every node replies, a refused extension after lost keys ends the lease. */
    void checkNotExtended(SimWorker worker, long since) {
        if (plan.isOnlyKeyLoss() && !grants.isQuorum(grants.heldCount(worker.token(), since))) {
            violate(worker + " is not lost although a majority of its keys is");
        }
    }

    /** A log handler of the application that throws. */
    void throwFromLog() {
        if (!isOver && logThrowsUntilNs - world.nowNs() > 0) {
            count("LOG_THREW");
            throw new SimFault("a log handler");
        }
    }

    void onSuspended(SimClient client) {
        count("SUSPENDED");
        clocks.onSuspended(client.name());
    }

    void onResumed(SimClient client) {
        clocks.onResumed(client.name(), world.nowNs());
    }

    void whenClosed(SimClient client, long startNs, long pausedBeforeNs, Runnable closed) {
        closings.add(new Closing(client, startNs, pausedBeforeNs, closed));
    }

    // ---- checks -----------------------------------------------------------------------------------------------------

    private void check() {
        long nowNs = world.nowNs();
        kept.removeIf(lock -> lock.untilNs - nowNs <= 0);
        releases.check();
        checkAlone();
        if (plan.isEveryWaiterWoken()) {
            waiters.check(clients);
        }
        for (int r = 0; r < plan.resourceCount && plan.permitTenths > 0; r++) {
            checkPermits("resource-" + r);
        }
        for (int i = 0; i < clients.size(); i++) {
            if (!clients.get(i).isGone()) {
                clients.get(i).check(nowNs);
            }
        }
        if (!closings.isEmpty()) {
            List.copyOf(closings).forEach(closing -> checkClosing(closing, nowNs));
        }
    }

    private void checkAlone() {
        inside.clear();
        for (int i = 0; i < clients.size(); i++) {
            SimClient client = clients.get(i);
            for (int w = 0; w < client.workers().size() && !client.isGone(); w++) {
                SimWorker worker = client.workers().get(w);
                if (worker.isInside()) {
                    checkAgainstOthers(worker);
                    checkAgainstKept(worker);
                    inside.add(worker);
                }
            }
        }
    }

    private void checkAgainstOthers(SimWorker worker) {
        for (int i = 0; i < inside.size(); i++) {
            SimWorker other = inside.get(i);
            // Readers share.
            if ((!other.isReading() || !worker.isReading()) && isShared(other.resources(), worker.resources())) {
                checkPair(other, worker);
            }
        }
    }

    /** The check of all pairs after each event is a large part of a run, and sets are rare. */
    private static boolean isShared(List<String> some, List<String> others) {
        return some.size() == 1 && others.size() == 1
                ? some.get(0).equals(others.get(0))
                : !Collections.disjoint(some, others);
    }

    private void checkAgainstKept(SimWorker worker) {
        for (int i = 0; i < kept.size(); i++) {
            Kept lock = kept.get(i);
            if (worker.resources().contains(lock.resource) && !lock.token.equals(worker.token())
                    && (!lock.isReading || !worker.isReading())) {
                checkPair(lock, worker);
            }
        }
    }

    /** Each resource, followed by the permits of its semaphore. */
    private List<String> lockNames() {
        List<String> names = new ArrayList<>();
        for (int r = 0; r < plan.resourceCount; r++) {
            names.add("resource-" + r);
            for (int i = 0; plan.permitTenths > 0 && i < plan.permitCount; i++) {
                names.add(permitName("resource-" + r, i));
            }
        }
        return names;
    }

    static String permitName(String resource, int number) {
        return resource + ":redlock:permit:{" + resource + "}:" + number;
    }

    /** No more holders than permits, unless two have one permit, which is judged as with plain locks. */
    private void checkPermits(String resource) {
        int holders = 0;
        for (int i = 0; i < inside.size(); i++) {
            holders += inside.get(i).isPermit() && inside.get(i).resource.equals(resource) ? 1 : 0;
        }
        if (holders > plan.permitCount) {
            Set<List<String>> permits = new HashSet<>();
            inside.stream()
                    .filter(worker -> worker.isPermit() && worker.resource.equals(resource))
                    .forEach(worker -> permits.add(worker.resources()));
            if (permits.size() > plan.permitCount) {
                violate(permits.size() + " permits of " + plan.permitCount + " are held: " + permits);
            }
        }
    }

    private void checkPair(SimWorker one, SimWorker other) {
        if (clocks.isExcused(one.client.name(), one.sinceNs(), other.client.name(), other.sinceNs())
                || isSuspendUnseen(one) || isSuspendUnseen(other)) {
            count("EXCUSED");
        } else if (plan.isKeyLossExcused && grants.isExplained(one.token(), revocationsOf(one), other.token(),
                revocationsOf(other))) {
            count("EXPLAINED_BY_LOST_KEYS");
        } else {
            violate("two hold " + one.resources() + ": " + one + " and " + other);
        }
    }

    private void checkPair(Kept lock, SimWorker other) {
        SimGrants.Revocations revocations = (node, grantedNs) -> clocks.isRevoked(lock.client, node, grantedNs);
        if (!clocks.isExcused(lock.client, lock.sinceNs, other.client.name(), other.sinceNs())
                && !isSuspendUnseen(other)
                && !clocks.isSuspendUnseen(lock.client, lock.sinceNs, node -> grants.hasGranted(node, lock.token))
                && !(plan.isKeyLossExcused
                        && grants.isExplained(lock.token, revocations, other.token(), revocationsOf(other)))) {
            violate(lock + " is kept, and held by " + other);
        }
    }

    private boolean isSuspendUnseen(SimWorker worker) {
        return clocks.isSuspendUnseen(worker.client.name(), worker.sinceNs(),
                node -> grants.hasGranted(node, worker.token()));
    }

    private SimGrants.Revocations revocationsOf(SimWorker worker) {
        return (node, grantedNs) -> clocks.isRevoked(worker.client.name(), node, grantedNs);
    }

    private void checkClosing(Closing closing, long nowNs) {
        SimClient client = closing.client();
        boolean isDone = client.workers().stream().allMatch(SimWorker::isSettledForGood)
                && client.isClosed();
        if (isDone) {
            closings.remove(closing);
            if (client.process().engine().claimsOut() != 0) {
                violate(client.name() + " is closed with " + client.process().engine().claimsOut()
                        + " claims outside their pool");
            }
            client.leave();
            closing.closed().run();
        } else if (nowNs - closing.startNs() - (client.pausedNs() - closing.pausedBeforeNs()) > 1_100 * MS) {
            closings.remove(closing);
            violate(client.name() + " is not closed within its time: " + client.workers());
        }
    }

    // ---- faults -----------------------------------------------------------------------------------------------------

    private void scheduleFault() {
        world.after((plan.faultPeriodMs / 2 + random.nextInt(plan.faultPeriodMs)) * MS, () -> {
            if (!isQuiescing) {
                List<Fault> faults = List.copyOf(plan.faults);
                // Few other faults matter as long as nothing is promoted.
                boolean isPromotion = plan.isFailingOver() && random.nextInt(4) == 0;
                inject(isPromotion ? Fault.PROMOTE : faults.get(random.nextInt(faults.size())));
                scheduleFault();
            }
        });
    }

    private void inject(Fault fault) {
        int index = random.nextInt(plan.nodeCount);
        FakeNode node = affected(index);
        SimClient client = clients.get(random.nextInt(clients.size()));
        trace("FAULT " + fault + " " + node + " " + client.name());
        switch (fault) {
            case BREAK -> node.breakConnections(one(client));
            case CUT -> {
                node.cutOff(one(client));
                after(1 + random.nextInt(4000), () -> node.cutOff(name -> false));
            }
            case LOSE_REQUESTS -> node.loseRequests(one(client));
            case LOSE_REPLIES -> node.loseReplies(one(client));
            case CRASH_KEEP, CRASH_LOSE -> crash(index, fault == Fault.CRASH_KEEP);
            case REBOOT_KEEP, REBOOT_LOSE -> reboot(index, fault == Fault.REBOOT_KEEP);
            case PAUSE_NODE -> pause(node);
            case SLOW -> {
                int msMax = 1 + random.nextInt(100);
                node.delay(() -> random.nextInt(msMax * 1000) * 1000L);
                after(100 + random.nextInt(2000), () -> usualDelay(node));
            }
            case CLOCK_RATE -> node.redis().clockRate(random.nextInt(8001) - 4000);
            case CLOCK_BACK -> {
                int ms = random.nextInt(3000);
                setBackMs += ms;
                step(index, -ms);
            }
            case CLOCK_FORWARD -> jumpForward(index);
            case SMALL_STEPS -> smallSteps();
            case LOSE_COUNTERS -> loseCounters();
            case LOSE_KEY -> loseKey(index, lockNames().get(random.nextInt(lockNames().size())));
            case FLUSH_ALL -> lockNames().forEach(name -> loseKey(index, name));
            case LATE_REQUESTS -> {
                int disconnectMs = 1 + random.nextInt(random.nextBoolean() ? 100 : 3000);
                node.holdBack(one(client));
                after(disconnectMs, node::disconnectHeldBack);
                after(disconnectMs + random.nextInt(random.nextBoolean() ? 500 : 6000), node::letThrough);
            }
            case LOSE_PUSHES, DELAY_PUSHES, REPEAT_PUSHES -> disturbPushes(fault, node, one(client));
            case STRAY_PUSHES -> strayPushes(node, one(client));
            case FLUSH_SCRIPTS -> node.redis().flushScripts();
            case ERRORS -> node.redis()
                    .failNext(SCRIPTS.get(random.nextInt(SCRIPTS.size())),
                            List.of("BUSY x", "OOM x", "LOADING x", "READONLY x", "NOSCRIPT x").get(random.nextInt(5)),
                            1 + random.nextInt(20));
            case PAUSE_CLIENT -> {
                client.pause();
                after(1 + random.nextInt(random.nextInt(4) == 0 ? 3000 : 100), client::resume);
            }
            case SUSPEND_CLIENT -> {
                client.suspend();
                after(1_000 + random.nextInt(random.nextBoolean() ? 500 : 5_000), client::resume);
            }
            case SLOW_TURNS -> client.slow(soonNs());
            case NO_MEMORY -> client.withoutMemory(soonNs());
            case THROWING_CALLBACKS -> client.throwing(soonNs());
            // One retry takes 20 us, and more would cost most of the time of a run.
            case RETRY_AT_ONCE -> client.eager(world.nowNs() + (20 + random.nextInt(150)) * MS);
            case THROWING_LOG -> logThrowsUntilNs = soonNs();
            case PROMOTE -> failovers.promote(index);
            case CLOSE_CLIENT -> closeAndReplace(client);
            case KILL_CLIENT -> {
                if (!client.isClosing()) {
                    client.kill();
                    clients.remove(client);
                    newClient();
                }
            }
        }
    }

    /** The server of a node on which a fault acts. */
    private FakeNode affected(int index) {
        return world.node(failovers != null && random.nextBoolean() ? index + plan.nodeCount : index);
    }

    private long soonNs() {
        return world.nowNs() + (50 + random.nextInt(1_500)) * MS;
    }

    /** Deletes the key of a lock, whatever its holder. */
    private void loseKey(int index, String resource) {
        FakeRedis redis = world.node(index).redis();
        String token = redis.get(resource);
        if (token != null) {
            (FakeRedis.SORTED_SET.equals(token) ? redis.entries(resource).keySet() : Set.of(token))
                    .forEach(each -> grants.onLost(index, each));
            if (steps != null) {
                steps.onDeleted(index, resource);
            }
            redis.delete(resource);
            count("KEY_LOST");
        }
    }

    private void disturbPushes(Fault fault, FakeNode node, Predicate<String> isAffected) {
        node.pushFault((name, delivery) -> {
            count("PUSH_SENT");
            if (!isAffected.test(name)) {
                delivery.run();
            } else if (fault == Fault.DELAY_PUSHES) {
                after(random.nextInt(3_000), delivery);
            } else if (fault == Fault.REPEAT_PUSHES) {
                delivery.run();
                after(random.nextInt(100), delivery);
            }
        });
        after(1 + random.nextInt(4_000), () -> node.pushFault(null));
    }

    /** Some pushes for resources, for a key that is none, or for all keys. */
    private void strayPushes(FakeNode node, Predicate<String> isAffected) {
        for (int i = random.nextInt(20); i >= 0; i--) {
            List<String> names = lockNames();
            names.add("resource-" + plan.resourceCount);
            int number = random.nextInt(names.size() + 1);
            node.pushInvalidation(isAffected, number == 0 ? null : names.get(number - 1));
            count("STRAY_PUSH");
        }
    }

    /** Models a time service that corrects machines, with at most one step per machine between two clock samples. */
    private void smallSteps() {
        for (int i = 0; i < plan.nodeCount; i++) {
            boolean isSampled = world.nowNs() - smallStepsNs[i] > 1_500 * MS;
            if (isSampled && random.nextInt(3) > 0) {
                smallStepsNs[i] = world.nowNs();
                world.node(i).redis().clockJump(1 + random.nextInt(plan.smallStepMsMax));
            }
        }
    }

    /** Counters expire on all nodes at about the same time, because they were last used at about the same time. */
    private void loseCounters() {
        long greatest = 0;
        for (int r = 0; r < plan.resourceCount; r++) {
            for (FakeNode node : world.nodes()) {
                greatest = Math.max(greatest, node.redis().counter("resource-" + r));
            }
        }
        for (FakeNode node : world.nodes()) {
            if (!plan.isCounterLossSafe || node.redis().counterSeed() > greatest) {
                node.redis().loseCounters();
            }
        }
    }

    private Predicate<String> one(SimClient client) {
        return random.nextInt(4) == 0 ? name -> true : client.process()::isNamed;
    }

    private void after(int ms, Runnable task) {
        world.after(ms * MS, task);
    }

    private void crash(int index, boolean isDataKept) {
        if (failovers != null && failovers.isBusy(index)) {
            // The restart guard does not know for how long the predecessor serves.
            return;
        }
        FakeNode node = failovers == null ? world.node(index) : failovers.primary(index);
        if (node.isUp()) {
            node.crash();
            after(1 + random.nextInt(1000), () -> {
                if (!node.isUp()) {
                    node.restart(isDataKept);
                    if (!isDataKept) {
                        clocks.onEmptied(index, world.nowNs(), false);
                    }
                }
            });
        }
    }

    /** Reboots one machine, or all of them after a power failure. */
    private void reboot(int index, boolean isDataKept) {
        boolean isEveryNode = random.nextInt(3) == 0;
        for (int i = 0; i < plan.nodeCount; i++) {
            if ((isEveryNode || i == index) && world.node(i).isUp()) {
                reboot(i, 1 + random.nextInt(1500), isDataKept);
            }
        }
    }

    private void reboot(int index, int downMs, boolean isDataKept) {
        FakeNode node = world.node(index);
        node.crash();
        if (isDataKept) {
            step(index, 60_000 + random.nextInt(3_600_000));
        }
        after(downMs, () -> {
            if (node.isUp()) {
                return;
            }
            node.restart(isDataKept);
            if (!isDataKept) {
                // Its clock was slow at the start and is set afterwards, so its uptime is far too long.
                node.redis().uptime(random.nextInt(7_200));
                clocks.onEmptied(index, world.nowNs(), true);
            }
        });
    }

    private void pause(FakeNode node) {
        if (!node.isPaused()) {
            node.pause();
            after(1 + random.nextInt(random.nextInt(3) == 0 ? 4000 : 150), () -> {
                if (node.isPaused()) {
                    node.resume();
                }
            });
        }
    }

    /** Makes one clock or all clocks jump; rarely again before the nodes vote again. */
    private void jumpForward(int index) {
        if (hasJumped && world.nowNs() - lastJumpNs < 2L * plan.maxTtlMs * MS && random.nextInt(4) > 0) {
            return;
        }
        hasJumped = true;
        lastJumpNs = world.nowNs();
        int ms = 60_000 + random.nextInt(3_600_000);
        boolean isEveryClock = random.nextInt(3) == 0;
        for (int i = 0; i < plan.nodeCount; i++) {
            if (isEveryClock || i == index) {
                step(i, ms);
            }
        }
    }

    private void step(int index, int ms) {
        trace("clock of node " + index + " by " + ms + " ms");
        world.node(index).redis().clockJump(ms);
        clocks.onStep(index, ms, world.nowNs());
        if (steps != null && ms > 0) {
            steps.onJumped(index);
        }
    }

    private void closeAndReplace(SimClient client) {
        if (!client.isClosing()) {
            client.run(() -> {
                if (!client.isClosing()) {
                    client.close(() -> {
                        clients.remove(client);
                        newClient();
                    });
                }
            });
        }
    }

    // ---- the run ----------------------------------------------------------------------------------------------------

    /** Runs the plan: work under faults, then no faults until the system is quiet, then checks for leftovers. */
    public Simulation run() {
        return run(System.err, () -> Runtime.getRuntime().halt(1));
    }

    /**
     * Runs the plan.
     *
     * @param out        where a run that hangs is described
     * @param lastResort what to do if it cannot be stopped
     */
    Simulation run(PrintStream out, Runnable lastResort) {
        SimLog log = new SimLog(this);
        SimWatchdog watchdog = new SimWatchdog(this, out, lastResort);
        try {
            // Every client has to connect to every node before the first fault, because the clock watch and the restart
            // guard need a first contact.
            world.runMs(100);
            if (plan.areAllPushesLost) {
                world.nodes().forEach(node -> node.pushFault((name, delivery) -> {
                }));
            }
            if (!plan.faults.isEmpty()) {
                scheduleFault();
            }
            world.runMs(plan.workMs);
            quiesce();
        } catch (RuntimeException | Error e) {
            violations.add("the run itself failed: " + e);
            throw new AssertionError(report(), e);
        } finally {
            watchdog.close();
            isOver = true;
            world.end();
            log.close();
        }
        return this;
    }

    private void quiesce() {
        isQuiescing = true;
        trace("PEACE");
        if (failovers != null) {
            failovers.quiesce();
        }
        for (FakeNode node : world.nodes()) {
            node.cutOff(name -> false);
            node.pushFault(null);
            usualDelay(node);
            node.redis().clearErrors();
            if (!node.isUp()) {
                node.restart(true);
            }
            if (node.isPaused()) {
                node.resume();
            }
        }
        world.nodes().forEach(FakeNode::letThrough);
        logThrowsUntilNs = world.nowNs();
        clients.forEach(SimClient::recover);
        clients.forEach(SimClient::resume);
        // Reconnects take two seconds to detect a dead connection, one second of delay, and the handshake.
        long tidyMs = 6_000;
        long idleMs = plan.isTidy ? tidyMs + 4_000 : 2L * plan.maxTtlMs + 4_000;
        world.runMs(idleMs);
        for (SimClient client : clients) {
            client.workers()
                    .stream()
                    .filter(worker -> !worker.isIdle())
                    .forEach(worker -> violate("not idle at the"
                            + " end: " + worker));
            checkEngine(client);
        }
        world.runMs(plan.isTidy ? tidyMs : plan.maxTtlMs + plan.maxTtlMs / 50 + 3_000 + setBackMs);
        checkKeys();
        if (plan.isEachPushSentOnce()) {
            refusals.excessive().forEach(this::violate);
        }
        if (isFlightRecordWanted) {
            clients.forEach(client -> flightRecords.add(client.redlock().flightRecord()));
        }
        List.copyOf(clients).forEach(client -> {
            if (!client.isClosing()) {
                client.close(() -> clients.remove(client));
            }
        });
        world.runMs(1_500);
    }

    private void checkEngine(SimClient client) {
        if (client.process().engine().claimsOut() != 0 || client.process().engine().heldCount() != 0) {
            violate(client.name() + " keeps " + client.process().engine().claimsOut() + " claims and "
                    + client.process().engine().heldCount() + " leases at the end");
        }
        client.redlock().nodes().forEach(node -> {
            if (!node.state().name().matches("READY|QUARANTINED")) {
                violate(client.name() + " has not reconnected to " + node);
            }
            if (node.undeliveredReleaseCount() != 0) {
                violate(client.name() + " still has " + node.undeliveredReleaseCount() + " undelivered releases to "
                        + node);
            }
        });
    }

    private void checkKeys() {
        for (FakeNode node : world.nodes()) {
            if (!node.redis().keys().isEmpty()) {
                violate("keys are left on " + node + ": " + node.redis().keys());
            }
            if (node.connectionCount() > clients.size()) {
                violate(node.connectionCount() + " connections to " + node + " of " + clients.size() + " clients");
            }
        }
    }

    // ---- steps of the specification -------------------------------------------------------------------------------

    /** Writes the run as steps; call it before the run. */
    StepTrace writeSteps(Consumer<Step> out) {
        steps = new StepTrace(world, out);
        steps.deceived(clocks::isDeceivedBy);
        if (plan.guard == RestartGuardMode.FRESH_GROUP && plan.nodeCount > 1) {
            steps.fresh();
        }
        clients.forEach(this::addToSteps);
        return steps;
    }

    private void addToSteps(SimClient client) {
        steps.addClient(client.process(), plan.driftConstantMs, plan.clockSampleMs, List.of(),
                StepTrace.nodes((1L << plan.nodeCount) - 1));
    }

    // ---- results ---------------------------------------------------------------------------------------------------

    /** Sets a listener that gets each line of the trace. */
    void onTrace(Consumer<String> listener) {
        traceListener = listener;
    }

    public long traceHash() {
        return traceHash;
    }

    public long traceCount() {
        return traceCount;
    }

    public Map<String, Integer> counts() {
        return counts;
    }

    /** Takes the flight records at the end of the run, which is slow. */
    Simulation withFlightRecords() {
        isFlightRecordWanted = true;
        return this;
    }

    /** @return the flight records of the clients at the end */
    List<String> flightRecords() {
        return flightRecords;
    }

    public List<String> violations() {
        return violations;
    }

    public boolean isClean() {
        return violations.isEmpty();
    }

    /** Returns the plan, the violations and the end of the trace. */
    public String report() {
        StringBuilder text = new StringBuilder(plan + "\n" + String.join("\n", violations) + "\n" + counts);
        trace.forEach(line -> text.append('\n').append(line));
        return text.toString();
    }
}
