package dev.redlock.sim;

import dev.redlock.api.Lease;
import dev.redlock.engine.TestEngine;
import dev.redlock.spec.Rejected;
import dev.redlock.spec.Rule;
import dev.redlock.spec.Step;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiPredicate;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/**
 * Writes a run as steps of the specification: what nodes receive and execute, keys that disappear, and what clients
 * decide. It watches and changes nothing, and draws no random number.
 *
 * <p>Before each event, it writes what time has ended, then what clients have decided since the last event, so the
 * order of the steps is that of the run.
 */
final class StepTrace {
    private static final long NS_PER_MS = 1_000_000;
    private static final int TTL_DRIFT_PPM = 10_000;
    private static final String MARK_END = ":redlock:fence:run_id";
    private static final Set<Rule> GUARDS = EnumSet.of(Rule.GuardAttempts, Rule.GuardExtensions, Rule.WholeGroup);

    private final VirtualWorld world;
    private final Consumer<Step> out;
    /** Null without clusters. */
    private final StepOwners owners;
    private final Map<String, Token> tokens = new HashMap<>();
    private final Map<String, TracedClient> tracedClients = new HashMap<>();
    /** Tokens of attempts and leases. */
    private final List<Token> active = new ArrayList<>();
    private final List<Map<String, Key>> present = new ArrayList<>();
    private BiPredicate<String, Integer> isDeceived = (client, node) -> false;
    private boolean isFresh;
    private Rejected rejected;
    private long lastNs;
    private long pollCount;

    /** A client. */
    private static final class TracedClient {
        private final VirtualWorld.Client client;
        private final List<String> order;
        private long allowanceConstantNs;
        private long unseenNs;
        private final Map<Object, Held> held = new IdentityHashMap<>();

        TracedClient(VirtualWorld.Client client, List<String> order) {
            this.client = client;
            this.order = order;
        }

        /** The nodes of a mask of the client. */
        String nodes(long mask) {
            if (order.isEmpty() || mask == 0) {
                return StepTrace.nodes(mask);
            }
            return LongStream.range(0, order.size())
                    .filter(i -> (mask & 1L << i) != 0)
                    .mapToObj(i -> order.get((int) i))
                    .collect(Collectors.joining(","));
        }

        long allowanceNs(long ttlNs) {
            return (ttlNs + unseenNs) * TTL_DRIFT_PPM / 1_000_000 + allowanceConstantNs;
        }
    }

    /** A token that was sent. */
    private static final class Token {
        private final String name;
        private final TracedClient traced;
        private final SentCommand first;
        private boolean isActive = true;
        private boolean isHeld;
        /** When it is over at the latest. */
        private long untilNs;
        /** The turn of its client in which it was won or ended; -1 before. */
        private long decidedTurn = -1;
        /** The round in which each node was asked first. */
        private final Map<Integer, Integer> firstRounds = new HashMap<>();
        /** The extension round in which it was last sent, and the one that its lease rests on. */
        private int round;
        private int restRound;

        Token(String name, TracedClient traced, SentCommand first) {
            this.name = name;
            this.traced = traced;
            this.first = first;
        }
    }

    /** A lease of a client. */
    private static final class Held {
        private final Token token;
        private final Lease lease;
        private final int use;
        private int round;
        private long mark;

        Held(Token token, Lease lease) {
            this.token = token;
            this.lease = lease;
            this.use = TestEngine.useOf(lease);
        }
    }

    /** A key on a node. */
    private static final class Key {
        private final int node;
        private final String name;
        private final Token token;
        private long expiresAtMs;
        private int round;
        private boolean isJumped;
        /** Set by another server of the cluster. */
        private boolean isCopied;
        private long mark;

        Key(int node, String name, Token token) {
            this.node = node;
            this.name = name;
            this.token = token;
        }
    }

    /** What time ends. */
    private record Due(long atNs, Token token, Key key) {
    }

    StepTrace(VirtualWorld world, Consumer<Step> out) {
        this(world, out, null);
    }

    /** @param owners the owners of the resource whose steps it writes; null without clusters */
    StepTrace(VirtualWorld world, Consumer<Step> out, StepOwners owners) {
        this.owners = owners;
        this.world = world;
        this.out = out;
        for (int i = 0; i < world.nodes().size(); i++) {
            present.add(new HashMap<>());
            listen(i, world.node(i));
        }
        world.quietListener(this::onQuiet);
    }

    private void listen(int index, FakeNode node) {
        List<SentCommand> none = List.of();
        List<List<Sent>> executing = new ArrayList<>();
        node.sendListener(new FakeNode.SendListener() {
            @Override
            public Object onSent(String link, List<String> words) {
                if (isFresh && words.get(0).equals("SET") && words.get(1).endsWith(MARK_END)) {
                    return new Mark(link.substring(link.lastIndexOf('/') + 1));
                }
                List<SentCommand> commands = rejected == null ? SentCommand.of(words) : none;
                return commands.isEmpty() ? List.of() : StepTrace.this.onSent(index, link, commands);
            }

            @Override
            @SuppressWarnings("unchecked")
            public void onExecute(Object sent) {
                executing.clear();
                onQuiet();
                if (sent instanceof Mark mark) {
                    guarded(mark.client, index, Step.of(world.nowNs(), "mark", node(index)));
                } else {
                    executing.add((List<Sent>) sent);
                }
            }

            @Override
            public void onRestart(boolean isDataKept) {
                StepTrace.this.onRestart(index, isDataKept);
            }
        });
        node.redis().stepListener(new FakeRedis.StepListener() {
            @Override
            public void onExecuted(String verb, List<String> keys, String token, long reply) {
                if (!executing.isEmpty()) {
                    StepTrace.this.onExecuted(index, executing.get(0), verb, token, reply);
                }
            }

            @Override
            public void onClockChange() {
                onQuiet();
                endDeleted(index);
            }
        });
    }

    /** The mark of a process under way. */
    private record Mark(String client) {
    }

    /** A command under way. */
    private record Sent(SentCommand command, Token token, int round, boolean isFirst) {
    }

    /** The restart guard is in mode FRESH_GROUP. */
    void fresh() {
        isFresh = true;
        write(Step.of(world.nowNs(), "fresh"));
    }

    /** Decides whether a client cannot know that a node has lost its keys. */
    void deceived(BiPredicate<String, Integer> newPredicate) {
        isDeceived = newPredicate;
    }

    /** The first step that was rejected; null for none. */
    Rejected rejected() {
        return rejected;
    }

    /** @param order the nodes as the client numbers them; empty for the order of the world */
    void addClient(VirtualWorld.Client client, long driftConstantMs, long clockSampleMs, List<String> order,
            String... lists) {
        String name = client.name();
        TracedClient traced = new TracedClient(client, order);
        traced.allowanceConstantNs = driftConstantMs * NS_PER_MS;
        traced.unseenNs = clockSampleMs == 0 ? 0 : 2 * (clockSampleMs + 100) * NS_PER_MS;
        tracedClients.put(name, traced);
        List<Object> words = new ArrayList<>(
                List.of(name, TTL_DRIFT_PPM, traced.allowanceConstantNs, traced.unseenNs));
        words.addAll(List.of(lists));
        write(Step.of(world.nowNs(), "client", words.toArray()));
    }

    /** The names of some nodes. */
    static String nodes(long mask) {
        StringBuilder text = new StringBuilder();
        for (long left = mask; left != 0; left &= left - 1) {
            text.append(text.length() == 0 ? "" : ",").append('n').append(Long.numberOfTrailingZeros(left));
        }
        return text.length() == 0 ? "-" : text.toString();
    }

    private String node(int server) {
        return "n" + nodeOf(server);
    }

    private int nodeOf(int server) {
        return owners == null ? server : owners.nodeOf(server);
    }

    private boolean isOwner(int server) {
        return owners == null || owners.isOwner(server);
    }

    private boolean isFormer(int server) {
        return owners != null && owners.isFormer(server);
    }

    // ---- time and clients -------------------------------------------------------------------------------------------

    private void onQuiet() {
        if (rejected == null) {
            advance();
            poll();
        }
    }

    /**
     * Writes in their order which validities have ended, and which keys that a lease rests on. Other keys end when the
     * node deletes them: until then, a clock that is set back restores them.
     */
    private void advance() {
        long nowNs = world.nowNs();
        List<Due> due = null;
        for (int i = 0; i < active.size(); i++) {
            Token token = active.get(i);
            if (token.untilNs - nowNs <= 0) {
                due = due == null ? new ArrayList<>() : due;
                due.add(new Due(token.untilNs, token, null));
            }
        }
        for (int i = 0; i < present.size(); i++) {
            FakeRedis redis = world.node(i).redis();
            long wallMs = redis.wallMs();
            for (Key key : present.get(i).values()) {
                if (key.token.isActive && !key.isJumped && !isOlder(key) && isExpired(key, wallMs)) {
                    due = due == null ? new ArrayList<>() : due;
                    long atNs = redis.reachedNs(key.expiresAtMs + (key.token.first.isReader() ? 0 : 1));
                    due.add(new Due(Math.max(lastNs, Math.min(nowNs, atNs)), null, key));
                }
            }
        }
        lastNs = nowNs;
        if (due != null) {
            due.sort(Comparator.comparingLong(Due::atNs).thenComparing(each -> each.key != null));
            for (Due each : due) {
                // No lease rests on the key any more if its token has ended first.
                if (each.key == null || each.key.token.isActive) {
                    end(each);
                }
            }
        }
    }

    private static boolean isOlder(Key key) {
        return key.token.isHeld && key.round < key.token.restRound;
    }

    private static boolean isExpired(Key key, long wallMs) {
        return key.expiresAtMs >= 0
                && (key.token.first.isReader() ? wallMs >= key.expiresAtMs : wallMs > key.expiresAtMs);
    }

    private void end(Due due) {
        if (due.key == null) {
            finish(due.atNs, due.token);
            // Its client, which may be paused, knows in its next turn, and may send more until then.
            VirtualWorld.Client client = due.token.traced.client;
            due.token.decidedTurn = client.turnCount() + (client.isBusy() ? 0 : 1);
            return;
        }
        Key key = due.key;
        present.get(key.node).remove(id(key.name, key.token));
        if (isFormer(key.node)) {
            write(Step.of(due.atNs, "formerLoses", node(key.node), key.token.name));
        } else if (key.isJumped || isOlder(key) && !key.isCopied) {
            write(Step.of(due.atNs, "drop", node(key.node), key.token.name, key.name,
                    key.isJumped ? "world" : "older"));
        } else {
            write(Step.of(due.atNs, "expire", node(key.node), key.token.name, key.name));
        }
    }

    private void finish(long atNs, Token token) {
        if (token.isActive) {
            token.isActive = false;
            token.isHeld = false;
            token.decidedTurn = token.traced.client.turnCount();
            active.remove(token);
            write(Step.of(atNs, "finish", token.name));
        }
    }

    /** Writes what the clients have decided since the last event. */
    private void poll() {
        pollCount++;
        for (int i = 0; i < world.clients().size(); i++) {
            VirtualWorld.Client client = world.clients().get(i);
            TracedClient traced = tracedClients.get(client.name());
            if (traced != null) {
                client.engine().engine().forEachHeld(lease -> onHeld(traced, lease));
                traced.held.values().removeIf(this::isGone);
            }
        }
    }

    private void onHeld(TracedClient traced, Lease lease) {
        Object claim = TestEngine.claimOf(lease);
        Held held = traced.held.get(claim);
        if (held == null || held.lease != lease) {
            // Another handle may keep the lock of a released one.
            int round = held == null ? 0 : held.round;
            Token token = held == null ? tokens.get(TestEngine.valueOf(lease)) : held.token;
            if (token == null && owners != null) {
                return;
            }
            if (token == null) {
                token = new Token("unsent", traced, null);
            }
            boolean isNew = held == null;
            held = new Held(token, lease);
            held.round = round;
            traced.held.put(claim, held);
            if (isNew) {
                win(held);
            }
        }
        held.mark = pollCount;
        look(held, claim);
    }

    private void win(Held held) {
        Token token = held.token;
        token.untilNs = TestEngine.validUntilNs(held.lease);
        token.isHeld = true;
        token.decidedTurn = token.traced.client.turnCount();
        write(Step.of(world.nowNs(), "win", token.name, token.traced.nodes(TestEngine.grantedMask(held.lease)),
                token.untilNs,
                TestEngine.acquiredNs(held.lease),
                TestEngine.isFenced(held.lease) ? TestEngine.fenceOf(held.lease) : ""));
    }

    private void look(Held held, Object claim) {
        Token token = held.token;
        int round = TestEngine.extensionOf(claim);
        long untilNs = TestEngine.validUntilNs(held.lease);
        if (untilNs - token.untilNs > 0) {
            String votes = round == held.round ? token.traced.nodes(TestEngine.extensionVotes(claim)) : "*";
            token.restRound = held.round;
            token.untilNs = untilNs;
            write(Step.of(world.nowNs(), "winExtension", token.name, votes, untilNs));
        }
        open(held, round);
        if (untilNs - token.untilNs < 0) {
            token.untilNs = untilNs;
            write(Step.of(world.nowNs(), "valid", token.name, untilNs));
        }
    }

    private void open(Held held, int round) {
        if (round != held.round) {
            held.round = round;
            held.token.round = round;
            // The lease may end between the check of its validity and the round that the same turn opens.
            if (held.token.isActive || held.token.decidedTurn != held.token.traced.client.turnCount()) {
                write(Step.of(world.nowNs(), "extend", held.token.name, round));
            }
        }
    }

    /** A lease that looks held is held, whatever its client does. */
    private boolean isGone(Held held) {
        boolean isBusy = held.token.traced.client.isBusy();
        if (held.mark == pollCount || TestEngine.looksHeld(held.lease, held.use) && held.token.isActive
                || isBusy && TestEngine.isKept(held.lease, held.use)) {
            return false;
        }
        finish(world.nowNs(), held.token);
        return true;
    }

    // ---- nodes ------------------------------------------------------------------------------------------------------

    private List<Sent> onSent(int index, String link, List<SentCommand> commands) {
        onQuiet();
        String client = link.substring(link.lastIndexOf('/') + 1);
        List<Sent> all = new ArrayList<>();
        for (SentCommand command : commands) {
            Token token = tokens.get(command.token());
            if (token == null && command.verb().equals("acquire") && isLock(command)) {
                token = new Token("t" + tokens.size(), tracedClients.get(client), command);
                tokens.put(command.token(), token);
                active.add(token);
                token.untilNs = world.nowNs() + command.ttlMs() * NS_PER_MS
                        - token.traced.allowanceNs(command.ttlMs() * NS_PER_MS);
            }
            if (token != null && rejected == null) {
                int round = command.verb().equals("extend") ? token.round : 0;
                onSent(index, client, command, token);
                all.add(new Sent(command, token, round, round > 0 && token.firstRounds.get(nodeOf(index)) == round));
            }
        }
        return all;
    }

    private boolean isLock(SentCommand command) {
        String key = command.keys().get(0);
        return owners == null ? !key.endsWith(":waiting") : key.equals(owners.resource);
    }

    private void onSent(int index, String client, SentCommand command, Token token) {
        long nowNs = world.nowNs();
        String asked = isOwner(index) ? node(index) : "-";
        switch (command.verb()) {
            case "acquire" -> {
                token.firstRounds.putIfAbsent(nodeOf(index), 0);
                // The commands of one turn leave one after another, and the attempt may be decided in between.
                boolean isLate = token.decidedTurn == token.traced.client.turnCount();
                guarded(client, index, Step.of(nowNs, "ask", token.name, client, asked,
                        String.join(",", command.keys()), command.isReader() ? "reader" : "-",
                        command.ttlMs() * NS_PER_MS, isLate ? "late" : ""));
            }
            case "extend" -> {
                token.firstRounds.putIfAbsent(nodeOf(index), token.round);
                guarded(client, index, Step.of(nowNs, "extend", token.name, token.round, asked,
                        command.ttlMs() * NS_PER_MS));
            }
            case "release" -> {
                if (!token.isHeld) {
                    finish(nowNs, token);
                }
                write(Step.of(nowNs, "release", token.name, node(index)));
            }
            default -> write(Step.of(nowNs, "startRaise", token.name, node(index), command.value()));
        }
    }

    private void guarded(String client, int index, Step step) {
        if (rejected != null) {
            return;
        }
        write(step);
        if (rejected != null && GUARDS.contains(rejected.rule()) && isDeceived.test(client, index)) {
            rejected = null;
            write(Step.of(step.atNs(), "unseen", node(index)));
            write(step);
        }
    }

    private void onExecuted(int index, List<Sent> executing, String verb, String value, long reply) {
        Token token = tokens.get(value);
        if (token == null || rejected != null) {
            return;
        }
        if (verb.startsWith("shorten")) {
            readKeys(index, token, token.round, false);
            return;
        }
        Sent sent = executing.stream().filter(each -> each.token == token).findFirst().orElse(null);
        if (sent == null) {
            return;
        }
        long nowNs = world.nowNs();
        expire(index, sent);
        if (isFormer(index)) {
            onExecutedByFormer(index, sent, verb, reply);
            return;
        }
        boolean isChange = true;
        if (verb.startsWith("acquire")) {
            isChange = reply > 0;
            boolean isFenced = verb.contains("fenced");
            write(Step.of(nowNs, "executeAcquire", token.name, node(index), isChange ? "granted" : "refused",
                    isFenced && isChange ? reply : ""));
        } else if (verb.startsWith("extend")) {
            isChange = reply > 0;
            write(Step.of(nowNs, "executeExtension", token.name, node(index),
                    reply == 1 ? "held" : reply == 2 ? "set" : "refused", sent.round, sent.isFirst ? "first" : ""));
        } else if (verb.startsWith("release")) {
            write(Step.of(nowNs, "executeRelease", token.name, node(index)));
        } else if (verb.startsWith("raise")) {
            isChange = false;
            write(Step.of(nowNs, "executeRaise", token.name, node(index), reply == 1 ? "raised" : "refused"));
        } else {
            return;
        }
        readKeys(index, sent.token, sent.round, isChange);
    }

    private void onExecutedByFormer(int index, Sent sent, String verb, long reply) {
        long nowNs = world.nowNs();
        Token token = sent.token;
        boolean isSet = verb.startsWith("acquire") ? reply > 0 : verb.startsWith("extend") && reply == 2;
        if (isSet) {
            write(Step.of(nowNs, "formerGrants", node(index), token.name, sent.round));
        }
        if (verb.startsWith("extend") && (reply == 1 || isSet && sent.isFirst)) {
            write(Step.of(nowNs, "formerRenews", node(index), token.name, sent.round));
        }
        if (verb.startsWith("release") && present.get(index).remove(id(owners.resource, token)) != null) {
            write(Step.of(nowNs, "formerLoses", node(index), token.name));
        }
        readKeys(index, token, sent.round, false);
    }

    /** A command deletes most of the expired keys that it finds, and renews that of its token. */
    private void expire(int index, Sent sent) {
        markPresent(index);
        long wallMs = world.node(index).redis().wallMs();
        List.copyOf(present.get(index).values())
                .stream()
                .filter(key -> key.mark != pollCount || key.token == sent.token)
                .filter(key -> sent.command.keys().contains(key.name) && isExpired(key, wallMs))
                .forEach(key -> end(new Due(world.nowNs(), null, key)));
        for (int other = 0; owners != null && other < present.size(); other++) {
            if (other != index && owners.nodeOf(other) == owners.nodeOf(index) && owners.isOwner(other)) {
                // Its key has moved or expired, or the command would not be executed here.
                endExpired(List.copyOf(present.get(other).values()));
            }
        }
    }

    private void endExpired(List<Key> keys) {
        keys.stream()
                .filter(key -> isExpired(key, world.node(key.node).redis().wallMs()))
                .forEach(key -> end(new Due(world.nowNs(), null, key)));
    }

    /** Reads what the node has now. */
    private void readKeys(int index, Token changed, int round, boolean isChange) {
        pollCount++;
        FakeRedis redis = world.node(index).redis();
        long wallMs = redis.wallMs();
        Map<String, Key> keys = present.get(index);
        TreeSet<String> text = new TreeSet<>();
        redis.visitEntries((name, value, expiresAtMs, isEntry) -> {
            Token token = tokens.get(value);
            if (token == null || !token.first.keys().contains(name)) {
                return;
            }
            boolean isOver = isEntry ? wallMs >= expiresAtMs : expiresAtMs >= 0 && wallMs > expiresAtMs;
            if (isOver && !keys.containsKey(id(name, token))) {
                return;
            }
            Key key = keys.computeIfAbsent(id(name, token), any -> new Key(index, name, token));
            if (key.expiresAtMs != expiresAtMs) {
                key.expiresAtMs = expiresAtMs;
                key.isJumped = false;
                key.isCopied = false;
                key.round = token == changed ? round : key.round;
            }
            key.mark = pollCount;
            text.add(name + "=" + token.name);
        });
        endUnmarked(index);
        if (isChange) {
            write(Step.of(world.nowNs(), "keys", node(index), String.join(",", text)));
        }
    }

    /** The clock is about to change: the keys that the node has deleted do not come back. */
    private void endDeleted(int index) {
        markPresent(index);
        endUnmarked(index);
    }

    private void markPresent(int index) {
        pollCount++;
        Map<String, Key> keys = present.get(index);
        world.node(index).redis().visitEntries((name, value, expiresAtMs, isEntry) -> {
            Token token = tokens.get(value);
            Key key = token == null ? null : keys.get(id(name, token));
            if (key != null) {
                key.mark = pollCount;
            }
        });
    }

    private void endUnmarked(int index) {
        long wallMs = world.node(index).redis().wallMs();
        for (Key key : List.copyOf(present.get(index).values())) {
            if (key.mark != pollCount) {
                present.get(index).remove(id(key.name, key.token));
                if (isExpired(key, wallMs)) {
                    end(new Due(world.nowNs(), null, key));
                }
            }
        }
    }

    private static String id(String key, Token token) {
        return key + "=" + token.name;
    }

    private void onRestart(int index, boolean isDataKept) {
        onQuiet();
        if (!isDataKept) {
            present.get(index).clear();
        }
        if (owners != null) {
            // A server of a cluster restarts after it has been deposed.
            return;
        }
        write(Step.of(world.nowNs(), "restart", node(index), isDataKept ? "kept" : ""));
    }

    // ---- clusters ---------------------------------------------------------------------------------------------------

    /** Moves the keys of the resource, which the other server owns when all have moved. */
    void onMove(int from, int to, Runnable move) {
        onQuiet();
        boolean isOwned = owners.isOwner(from);
        if (isOwned) {
            owners.onMove(to);
        }
        move.run();
        if (isOwned) {
            copyKeys(from, to);
            endExpired(List.copyOf(present.get(from).values()));
            present.get(from).clear();
        }
    }

    void onMoved(int from, int to, Runnable end) {
        onQuiet();
        end.run();
        if (owners.isOwner(from)) {
            writeFailOver(to);
            owners.onChange(to, StepOwners.NONE);
            write(Step.of(world.nowNs(), "formerEnds", node(to)));
        }
    }

    void onFailOver(int master, int replica, Runnable failOver) {
        onQuiet();
        failOver.run();
        if (owners.isOwner(master)) {
            copyKeys(master, replica);
            writeFailOver(replica);
            owners.onChange(replica, master);
        }
    }

    void onHeal(int deposed) {
        onQuiet();
        if (owners.isFormer(deposed)) {
            write(Step.of(world.nowNs(), "formerEnds", node(deposed)));
            owners.onFormerEnd(deposed);
        }
        present.get(deposed).clear();
    }

    private void writeFailOver(int owner) {
        write(Step.of(world.nowNs(), "failOver", node(owner), present.get(owner)
                .values()
                .stream()
                .map(key -> key.token.name)
                .collect(Collectors.joining(","))));
    }

    /** The other server may have some of the keys. */
    private void copyKeys(int from, int to) {
        Map<String, Key> keys = present.get(to);
        world.node(to).redis().visitEntries((name, value, expiresAtMs, isEntry) -> {
            Token token = tokens.get(value);
            Key key = token == null ? null : present.get(from).get(id(name, token));
            if (key != null) {
                Key copy = new Key(to, name, token);
                copy.round = key.round;
                copy.expiresAtMs = expiresAtMs;
                copy.isCopied = true;
                keys.put(id(name, token), copy);
            }
        });
    }

    // ---- what the world does to keys --------------------------------------------------------------------------------

    /** Somebody is about to delete a key. */
    void onDeleted(int index, String name) {
        onQuiet();
        List<Key> deleted = present.get(index).values().stream().filter(key -> key.name.equals(name)).toList();
        for (Key key : deleted) {
            present.get(index).remove(id(key.name, key.token));
            write(Step.of(world.nowNs(), "drop", node(index), key.token.name, key.name, "world"));
        }
    }

    /** The clock of a node has jumped ahead by more than clients allow for. */
    void onJumped(int index) {
        present.get(index).values().forEach(key -> key.isJumped = true);
    }

    private void write(Step step) {
        if (rejected == null) {
            try {
                out.accept(step);
            } catch (Rejected e) {
                rejected = e;
            }
        }
    }
}
