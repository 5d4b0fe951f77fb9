package dev.redlock.spec;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A state of {@code redlock.als}: its signatures, and the functions and predicates that only read them. A set of nodes
 * is a mask.
 */
final class State {

    /** {@code Trying}, {@code Held} and {@code Over}; a token that was not used is none of them. */
    enum Phase {
        UNUSED, TRYING, HELD, OVER
    }

    /** {@code sig Client}, with what its arithmetic needs. */
    static final class Client {
        /** {@code lists}: the members of each. */
        final List<Long> lists = new ArrayList<>();
        long ratePpm;
        long constantNs;
        /** The time in which a clock may gain beside the ttl: two gaps between samples. */
        long unseenNs;

        /** What the validity is less than the ttl: the {@code Allowance} of {@code timed.als}. */
        long allowanceNs(long ttlNs) {
            return (ttlNs + unseenNs) * ratePpm / 1_000_000 + constantNs;
        }

        long members() {
            return lists.stream().reduce(0L, (one, other) -> one | other);
        }
    }

    /** {@code sig Token}, and its columns of the relations of {@code sig Node}. */
    static final class Token {
        final String name;
        Client owner;
        Set<String> needs = Set.of();
        boolean isReader;
        Phase phase = Phase.UNUSED;
        long granted;
        long renewed;
        long acquiring;
        long extending;
        long releasing;
        long lost;
        long dropped;
        /** Those of {@code dropped} whose key an older round had set. */
        long older;
        /** Its lease has lost a majority of its nodes by no fault of its client. */
        boolean isUnkept;
        /** {@code fresh.als}: the nodes that had a mark when the attempt started, and have not restarted since. */
        long voters;
        /** {@code fresh.als}: restarts have taken a majority of its nodes, which {@code fewLost} excludes. */
        boolean isOfMany;
        final Times times = new Times();
        final Numbers numbers = new Numbers();

        Token(String name) {
            this.name = name;
        }

        boolean isActive() {
            return phase == Phase.TRYING || phase == Phase.HELD;
        }

        /** {@code pred reclaims}: its client has one node, and renews its leases there in the quarantine. */
        boolean isReclaimable() {
            return Long.bitCount(owner.members()) == 1;
        }

        @Override
        public String toString() {
            return name + " " + phase + " granted=" + Long.toBinaryString(granted) + " renewed="
                    + Long.toBinaryString(renewed);
        }
    }

    /** {@code timed.als}: the open round and the validity. */
    static final class Times {
        long round;
        boolean isStarted;
        long startNs;
        long ttlNs;
        /** The nodes that have executed a command of the open round. */
        long voted;
        long validUntilNs;
    }

    /** {@code fencing.als}: the numbers that each node's counter has reached for the token. */
    static final class Numbers {
        final Map<Integer, Set<Long>> reached = new HashMap<>();
        long raise;
        boolean isRaising;
    }

    final Set<Rule> off;
    final Map<String, Client> clients = new HashMap<>();
    final Map<String, Token> tokens = new HashMap<>();
    /** {@code Trying + Held}. */
    final Set<Token> active = new LinkedHashSet<>();
    /** {@code key}, for each node: the tokens of each resource. */
    private final Map<Integer, Map<String, Set<Token>>> keys = new HashMap<>();
    /** {@code count} of {@code fencing.als}, for each node and resource. */
    final Map<Integer, Map<String, Long>> counts = new HashMap<>();

    /** {@code Serving} of {@code clusters.als}: a former owner still serves. */
    long serving;
    /** The nodes whose owner has changed. */
    long failedOver;

    /** {@code fresh.als} replaces the restart guard of {@code redlock.als}. */
    boolean isFresh;
    /** {@code Marked}. */
    long marked;

    State(Set<Rule> off) {
        this.off = off.isEmpty() ? EnumSet.noneOf(Rule.class) : EnumSet.copyOf(off);
    }

    /** {@code pred on}. */
    boolean on(Rule rule) {
        return !off.contains(rule);
    }

    Token token(String name) {
        return tokens.computeIfAbsent(name, Token::new);
    }

    static int node(String word) {
        return Integer.parseInt(word.substring(1));
    }

    static long mask(String word) {
        long mask = 0;
        for (String node : word.equals("-") ? new String[0] : word.split(",")) {
            mask |= 1L << node(node);
        }
        return mask;
    }

    // ---- keys -------------------------------------------------------------------------------------------------------

    Map<String, Set<Token>> keys(int node) {
        return keys.computeIfAbsent(node, any -> new LinkedHashMap<>());
    }

    Set<Token> keys(int node, String resource) {
        return keys(node).getOrDefault(resource, Set.of());
    }

    void add(int node, Token token) {
        token.needs.forEach(name -> keys(node).computeIfAbsent(name, any -> new HashSet<>()).add(token));
    }

    void remove(int node, String resource, Token token) {
        Set<Token> holders = keys(node).get(resource);
        if (holders != null && holders.remove(token) && holders.isEmpty()) {
            keys(node).remove(resource);
        }
    }

    /** {@code pred excludes}. */
    static boolean excludes(Token one, Token other) {
        return one != other && !(one.isReader && other.isReader) && one.needs.stream().anyMatch(other.needs::contains);
    }

    /** {@code pred has}. */
    boolean has(int node, Token token) {
        return token.needs.stream().allMatch(name -> keys(node, name).contains(token));
    }

    /** {@code some n.key[t]}. */
    boolean hasAny(int node, Token token) {
        return token.needs.stream().anyMatch(name -> keys(node, name).contains(token));
    }

    /** {@code pred isFree}. */
    boolean isFree(int node, Token token) {
        return token.needs.stream()
                .allMatch(name -> keys(node, name).stream()
                        .allMatch(other -> other == token || other.isReader && token.isReader));
    }

    // ---- votes ------------------------------------------------------------------------------------------------------

    /** {@code pred majority}. */
    boolean majority(long nodes, long of) {
        int counted = Long.bitCount(nodes & of);
        return counted > Long.bitCount(of & ~nodes)
                || !on(Rule.MoreThanHalf) && 2 * counted == Long.bitCount(of);
    }

    /** {@code pred enough}. */
    boolean enough(Token token, long nodes) {
        for (long members : token.owner.lists) {
            if (!majority(nodes, on(Rule.OfAllNodes) ? members : members & token.acquiring)) {
                return false;
            }
        }
        return true;
    }

    /** {@code pred enoughToExtend}. */
    boolean enoughToExtend(Token token, long nodes) {
        return on(Rule.AllListsExtend)
                ? enough(token, nodes)
                : token.owner.lists.stream().anyMatch(members -> majority(nodes, members));
    }

    /** {@code fun counting}, of one token. */
    static boolean counts(int node, Token token) {
        return token.isActive() && ((token.granted | token.renewed) & 1L << node) != 0;
    }

    /** {@code pred inQuarantine}: the token that a restart of the node has made it forget; null for none. */
    Token inQuarantine(int node) {
        if (on(Rule.RestartsSeen)) {
            for (Token token : active) {
                if ((token.lost & 1L << node) != 0 && counts(node, token)
                        && (on(Rule.GuardAttempts) || token.phase == Phase.HELD)
                        && !(isFresh && (token.isOfMany || isDoomed(token)))) {
                    return token;
                }
            }
        }
        return null;
    }

    /** {@code pred isDoomed}: all nodes have restarted since it started, and too few have granted it. */
    private static boolean isDoomed(Token token) {
        return token.phase == Phase.TRYING && token.voters == 0 && (token.granted & ~token.lost) == 0
                && token.renewed == 0;
    }

    /** {@code pred keysKept}, of one token. */
    boolean keysKept(Token token) {
        return token.phase != Phase.HELD || enoughToExtend(token, token.granted & ~token.dropped);
    }
}
