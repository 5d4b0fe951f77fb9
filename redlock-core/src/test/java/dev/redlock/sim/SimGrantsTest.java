package dev.redlock.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** When lost keys are the reason why two hold, and when they are not. Three nodes, a quorum of two. */
class SimGrantsTest {

    /**
     * What happens on each node, in the order of time: {@code a} and {@code b} grant the lock to one of the two,
     * {@code x} loses the key of a, {@code p} is an extension of a that puts it back, {@code e} one that finds it; at
     * {@code j} the client of a sees the clock jump.
     */
    @ParameterizedTest
    @CsvSource({
        "a,   ab,  b,  false, nothing was lost",
        "ax,  ab,  b,  false, the key that was lost is not the one in the way",
        "a,   axb, b,  true,  the key in the way was lost",
        "a,   bax, b,  true,  in whatever order they were granted",
        "axb, axb, a,  true,  two keys were lost",
        "axb, ab,  a,  false, one was lost and the other was in the way",
        "a,   axb, '', false, the second has no quorum",
        "ax,  b,   b,  false, the first has never had one",
        "a,   axpb, b, true,  what is put back is no grant",
        "a,   axpeb, b, false, but what is found after that is one",
        "ax,  axe, b,  false, a lost key alone lets nobody in",
        "axb, ajb, a,  true,  what a client distrusts stands for nobody",
        "axb, ajb, '', false, but is missing from its quorum"})
    void lostKeysExplainTwoHolders(final String first, final String second, final String third,
            final boolean isExplained, final String why) {
        assertEquals(isExplained, explained(first, second, third), why);
    }

    private static boolean explained(final String... nodes) {
        final SimGrants grants = new SimGrants(3);
        for (int i = 0; i < 3; i++) {
            for (final char event : nodes[i].toCharArray()) {
                switch (event) {
                    case 'a', 'b' -> grants.onExecuted(i, "acquire", String.valueOf(event), 1, 0);
                    case 'x' -> grants.onLost(i, "a");
                    case 'p' -> grants.onExecuted(i, "extend", "a", 2, 0);
                    case 'e' -> grants.onExecuted(i, "extend", "a", 1, 0);
                    case 'j' -> {
                        // asked for below
                    }
                    default -> throw new IllegalArgumentException("event " + event);
                }
            }
        }
        return grants.isExplained("a", (node, grantedNs) -> nodes[node].contains("j"), "b", (node, grantedNs) -> false);
    }
}
