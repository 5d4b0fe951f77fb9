package dev.redlock.trial.nodes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class CorePinTest {
    private static final Path OWN = Path.of("/proc/self/status");

    @ParameterizedTest
    @ValueSource(strings = {"", "a", "1-", "-1", "1,,2", "1;2", "12345", "AUTO"})
    void otherTextsAreRejectedWithTheForms(String text) {
        String said = assertThrows(IllegalArgumentException.class, () -> CorePin.parse(text)).getMessage();
        assertEquals("'" + text + "': expected auto, none, or cores such as 1 or 2-5,7", said);
    }

    @Test
    void listsHaveRanges() {
        assertEquals(Set.of(0, 2, 3, 4, 7), CorePin.cores("7,0,2-4"));
        assertEquals(Set.of(), CorePin.cores(""));
    }

    @Test
    void noneLeavesTheChoiceToTheKernel() {
        CorePin.Choice choice = CorePin.parse("none").choose();
        assertEquals(List.of(), choice.prefix());
        assertEquals("", choice.words());
    }

    @Test
    void automaticPinLeavesTheFirstCoreFree() {
        Set<Integer> cores = new TreeSet<>(CorePin.cores(allowed(OWN)));
        CorePin.Choice choice = CorePin.AUTO.choose();
        if (cores.size() == 1) {
            assertEquals(", not pinned to cores: there is one core only", choice.words());
            return;
        }
        Set<Integer> chosen = CorePin.cores(choice.cores());
        assertEquals(cores.size() - 1, chosen.size(), choice::toString);
        assertFalse(chosen.contains(cores.iterator().next()), choice::toString);
    }

    @Test
    void coresThatDoNotExistFailTheStart() {
        RedisNodesContext context = new RedisNodesContext().count(1).pin(CorePin.parse("4095"));
        String said = assertThrows(NodesUnavailableException.class, () -> RedisNodes.start(context)).getMessage();
        assertTrue(said.startsWith("--pin 4095: taskset: ") && said.endsWith("; name other cores, or none"), said);
    }

    @Test
    void containersAreNotPinned() {
        CorePin.Choice pinned = CorePin.parse("0").choose();
        assertEquals(", not pinned to cores: the engine chooses the cores of containers",
                pinned.inContainer().words());
    }

    /** The kernel reports the cores of a process, also after its restart. */
    @ParameterizedTest
    @EnumSource(names = {"PATH", "EMBEDDED"})
    void serversRunOnTheirCores(Source source) {
        try (RedisNodes nodes = RequiredNodes.start(
                new RedisNodesContext().count(2).source(source).pin(CorePin.parse("0")))) {
            assertTrue(nodes.choice().contains(", pinned to core 0"), nodes::choice);
            nodes.node(1).restart(Data.LOST);
            for (RedisNode node : nodes.nodes()) {
                assertEquals("0", allowed(Path.of("/proc", Long.toString(node.pid().orElseThrow()), "status")));
            }
        }
    }

    private static String allowed(Path status) {
        try {
            return Files.readAllLines(status)
                    .stream()
                    .filter(line -> line.startsWith("Cpus_allowed_list:"))
                    .map(line -> line.substring(line.indexOf(':') + 1).trim())
                    .findFirst()
                    .orElseThrow();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
