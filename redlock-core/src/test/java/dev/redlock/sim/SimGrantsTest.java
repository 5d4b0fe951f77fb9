package dev.redlock.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** When lost keys explain two holders, and when they do not. Three nodes, a quorum of two. */
class SimGrantsTest {

    /**
     * The events on each node, in order: {@code a} and {@code b} grant the lock to a or b, {@code x} loses the key of
     * a, at {@code y} it expires, at {@code z} it does after a clock jump, {@code p} is an extension of a that sets the
     * key again, {@code e} one that finds it, {@code f} one of a thrifty client that sets it; at {@code j} the client
     * of a detects a clock jump.
     */
    @ParameterizedTest
    @CsvSource({
        "a,   ab,  b,  false, nothing was lost",
        "ax,  ab,  b,  false, the lost key is not the one of another holder",
        "a,   axb, b,  true,  the key of another holder was lost",
        "a,   bax, b,  true,  in any order of the grants",
        "axb, axb, a,  true,  two keys were lost",
        "axb, ab,  a,  false, one was lost and the other was not",
        "a,   axb, '', false, the second has no quorum",
        "ax,  b,   b,  false, the first has never had one",
        "a,   axpb, b, true,  a key that is set again is not a grant",
        "a,   axpeb, b, false, but an extension that finds it afterwards is one",
        "ax,  axe, b,  false, a lost key without a grant explains nothing",
        "a,   fb,  b,  false, a node that was never asked has granted, and its key was not lost",
        "a,   fxb, b,  true,  a node that was never asked has granted",
        "a,   axfxb, '', false, a node that was asked has not",
        "axb, ajb, a,  true,  a revoked grant does not count",
        "axb, ajb, '', false, so its quorum is missing",
        "a,   ayb, axb, true, a grant that has expired does not count, as after an extension that did not arrive",
        "'',  ayb, axb, false, so its quorum is missing",
        "a,   ayeb, axb, false, but it was extended afterwards",
        "'',  azjb, axb, false, nor one that has expired early, when its client knows",
        "az,  b,   axb, true, but before"})
    void lostKeysExplainTwoHolders(String first, String second, String third,
            boolean isExplained, String why) {
        assertEquals(isExplained, explained(first, second, third), why);
    }

    /** The same with one node, whose new process may be empty: there {@code p} is a grant. */
    @ParameterizedTest
    @CsvSource({
        "ab,    false, nothing was lost",
        "axb,   true,  the key of another holder was lost",
        "axpb,  false, it was set again before the grant",
        "axbp,  true,  the loss preceded the grant and a restart followed",
        "axbpe, true,  whatever follows",
        "abxp,  false, the grant was wrong before the loss",
        "axpbp, false, it was set again before the grant and after it"})
    void aLossOnALoneNodeExplainsThemAcrossARestart(String events, boolean isExplained, String why) {
        assertEquals(isExplained, explained(events), why);
    }

    private static boolean explained(String... nodes) {
        SimGrants grants = new SimGrants(nodes.length);
        for (int i = 0; i < nodes.length; i++) {
            for (char event : nodes[i].toCharArray()) {
                switch (event) {
                    case 'a', 'b' -> grants.onExecuted(i, "acquire", String.valueOf(event), 1, 0, false);
                    case 'x' -> grants.onLost(i, "a");
                    case 'y' -> grants.onExpired(i, "a", -1);
                    case 'z' -> grants.onExpired(i, "a", 0);
                    case 'p' -> grants.onExecuted(i, "extend", "a", 2, 0, false);
                    case 'f' -> grants.onExecuted(i, "extend", "a", 2, 0, true);
                    case 'e' -> grants.onExecuted(i, "extend", "a", 1, 0, false);
                    case 'j' -> {
                        // Checked below.
                    }
                    default -> throw new IllegalArgumentException("event " + event);
                }
            }
        }
        return grants.isExplained("a", (node, grantedNs) -> nodes[node].contains("j"), "b", (node, grantedNs) -> false);
    }
}
