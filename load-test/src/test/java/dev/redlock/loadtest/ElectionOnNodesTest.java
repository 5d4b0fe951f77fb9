package dev.redlock.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Leaders in processes of their own, on three servers: terms never overlap by their tokens. */
@Timeout(120)
class ElectionOnNodesTest {

    private final List<ChildProgram> candidates = new ArrayList<>();
    private RedisNodes nodes;
    private RedisNodes register;

    @BeforeEach
    void start() throws Exception {
        nodes = RequiredNodes.start(Source.PATH, 3);
        register = RequiredNodes.start(Source.PATH, 1);
        List<String> arguments = new ArrayList<>();
        arguments.add(register.addresses()[0].replaceFirst(".*:", ""));
        arguments.addAll(Arrays.asList(nodes.addresses()));
        for (int i = 0; i < 3; i++) {
            candidates.add(ChildProgram.start(ElectionCandidate.class, Map.of(), arguments));
        }
    }

    @AfterEach
    void stop() throws Exception {
        for (ChildProgram candidate : candidates) {
            candidate.close();
        }
        nodes.close();
        register.close();
    }

    private static List<Long> tokens(ChildProgram candidate, String event) throws IOException {
        return candidate.out()
                .lines()
                .filter(line -> line.startsWith(event))
                .map(line -> Long.valueOf(line.split(" ")[1]))
                .toList();
    }

    private List<Long> allTokens() throws IOException {
        List<Long> all = new ArrayList<>();
        for (ChildProgram candidate : candidates) {
            all.addAll(tokens(candidate, "LEADS"));
        }
        return all;
    }

    /** Waits for a term after the first ones, and returns its candidate. Its token is above all before. */
    private ChildProgram awaitTerm(int number) throws Exception {
        Await.until("term " + number, () -> allTokens().size() >= number);
        long newest = allTokens().stream().mapToLong(Long::longValue).max().orElseThrow();
        for (ChildProgram candidate : candidates) {
            List<Long> own = tokens(candidate, "LEADS");
            if (!own.isEmpty() && own.get(own.size() - 1) == newest) {
                Await.until("it writes", () -> Long.toString(newest).equals(register.node(0).call("GET", "last")));
                return candidate;
            }
        }
        throw new AssertionError("nobody leads " + newest);
    }

    private static void awaitEnds(ChildProgram candidate) throws Exception {
        Await.until("each term has ended",
                () -> tokens(candidate, "ENDED").size() >= tokens(candidate, "LEADS").size());
    }

    @Test
    void termsNeverOverlapByTheirTokens() throws Exception {
        ChildProgram paused = awaitTerm(1);
        paused.signal("STOP");
        ChildProgram killed = awaitTerm(2);
        paused.signal("CONT");
        awaitEnds(paused);
        assertTrue(paused.out().contains(" EXPIRED"), paused.out());
        killed.signal("KILL");
        ChildProgram cutOff = awaitTerm(3);
        nodes.node(0).pause();
        nodes.node(1).pause();
        awaitEnds(cutOff);
        nodes.node(0).resume();
        nodes.node(1).resume();
        ChildProgram closed = awaitTerm(4);
        closed.signal("TERM");
        awaitEnds(closed);
        assertTrue(closed.out().endsWith(" RELEASED\n"), closed.out());
        audit(killed);
    }

    private void audit(ChildProgram killed) throws IOException {
        List<Long> all = allTokens();
        Set<Long> distinct = new TreeSet<>(all);
        assertEquals(distinct.size(), all.size(), "no token twice: " + all);
        for (ChildProgram candidate : candidates) {
            List<Long> own = tokens(candidate, "LEADS");
            assertEquals(own, own.stream().sorted().toList(), "in order");
            List<Long> ends = tokens(candidate, "ENDED");
            assertTrue(own.containsAll(ends) && ends.size() == new TreeSet<>(ends).size(), "each once: " + ends);
            int openMax = 1;
            assertTrue(own.size() - ends.size() <= openMax, candidate.out());
        }
        assertEquals(tokens(killed, "LEADS").size() - 1, tokens(killed, "ENDED").size(), "it was killed in its term");
        RedisNode node = register.node(0);
        Object rejected = node.call("GET", "rejected");
        assertTrue(rejected == null || rejected.equals("1"), "more than the write that the pause has held up");
    }
}
