package dev.redlock.crowd;

import static dev.redlock.search.SearchAssert.assertClean;
import static dev.redlock.search.SearchAssert.assertEnds;
import static dev.redlock.search.SearchAssert.assertFound;

import dev.redlock.crowd.CrowdSearch.Fault;
import dev.redlock.crowd.CrowdSearch.Part;
import dev.redlock.crowd.CrowdSearch.Rule;
import dev.redlock.crowd.CrowdSearch.Scope;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The proof of the queue of waiting clients: a search through all states of a small model. */
class CrowdSearchTest {

    private static final String SLEEPS = "sleeps beside a free lock";
    private static final String PRECEDES = "a later client precedes";
    private static final Set<Fault> NO_FAULT = EnumSet.noneOf(Fault.class);

    private static Scope withoutFaults(int clientCount, Part part) {
        return new Scope(clientCount, 0, NO_FAULT, 0, part);
    }

    private static Scope withFaults(int clientCount, int faultCount, Set<Fault> faults, int boundTicks, Part part) {
        return new Scope(clientCount, faultCount, faults, boundTicks, part);
    }

    private static Scope with(Fault fault, int boundTicks) {
        return new Scope(3, 1, EnumSet.of(fault), boundTicks, Part.NONE);
    }

    private static Scope withoutMessages(Set<Fault> faults, int boundTicks) {
        return new Scope(3, faults.size(), faults, boundTicks, Part.NO_MESSAGES);
    }

    private static void assertProtocol(String name, Scope scope, long stateCount) {
        assertClean(name, new CrowdSearch(Rule.PRODUCT, scope), stateCount);
    }

    // ---- the protocol -----------------------------------------------------------------------------------------------

    /** A free lock with a waiter implies a message under way, and the messages lead to a grant. */
    @Test
    void withoutFaultsNobodySleepsBesideAFreeLock() {
        assertEnds("three clients", new CrowdSearch(Rule.PRODUCT, withoutFaults(3, Part.NONE)), 26_362);
    }

    @Test
    @Tag("exhaustive")
    void withoutFaultsNobodyOfFourSleepsBesideAFreeLock() {
        assertEnds("four clients", new CrowdSearch(Rule.PRODUCT, withoutFaults(4, Part.NONE)), 486_816);
    }

    /** The bound is the least one. */
    @ParameterizedTest
    @CsvSource({
        "DEATH, 3, 39355", "HANG, 5, 457987", "DISCONNECT, 3, 164690", "LOST_PUSH, 6, 221721",
        "NO_QUORUM, 0, 135640", "SILENT_EXPIRY, 1, 55690", "QUEUE_LOST, 6, 397875", "FAILOVER, 0, 134878",
        "CLOCK_SET_BACK, 0, 558293", "WRITES_REFUSED, 3, 1103031"
    })
    void afterAFaultNobodySleepsForLonger(Fault fault, int boundTicks, long stateCount) {
        assertProtocol(fault + ", " + boundTicks + " ticks", with(fault, boundTicks),
                stateCount);
        if (boundTicks > 0) {
            assertFound(fault + ", " + (boundTicks - 1) + " ticks",
                    new CrowdSearch(Rule.PRODUCT, with(fault, boundTicks - 1)), SLEEPS);
        }
    }

    /** More clients do not wait for longer. */
    @ParameterizedTest
    @Tag("exhaustive")
    @CsvSource({"DEATH, 3, 783429", "HANG, 5, 12232974"})
    void afterAFaultNobodyOfFourSleepsForLonger(Fault fault, int boundTicks, long stateCount) {
        assertProtocol("four clients, " + fault, withFaults(4, 1, EnumSet.of(fault), boundTicks, Part.NONE),
                stateCount);
    }

    /** The second one is found silent after the first. A message to the sleeper may end its look and delay the next. */
    @Test
    @Tag("exhaustive")
    void theHeadAndItsDeputyHang() {
        assertProtocol("two deaths or hangs",
                withFaults(3, 2, EnumSet.of(Fault.DEATH, Fault.HANG), 12, Part.NONE), 3_973_987);
    }

    /** A client that takes the lock again and again learns that others wait. Otherwise it sends no more than today. */
    @Test
    void aClientThatComesBackPrecedesTheQueueTwiceAtMost() {
        assertProtocol("returns of two", withoutFaults(2, Part.RETURNS), 35_542);
    }

    @Test
    @Tag("exhaustive")
    void aClientOfThreeThatComesBackPrecedesTheQueueTwiceAtMost() {
        assertProtocol("returns of three", withoutFaults(3, Part.RETURNS), 3_696_115);
    }

    /**
     * A lock is free for no longer if clients pass others. Beside a head that hangs, the bound is that of a deputy that
     * gives up and comes again.
     */
    @ParameterizedTest
    @CsvSource({"DEATH, 3, 43481", "HANG, 6, 370767", "DISCONNECT, 3, 145277"})
    void aClientThatPassesOthersLeavesNobodyBehind(Fault fault, int boundTicks, long stateCount) {
        assertProtocol("returns of two, " + fault,
                withFaults(2, 1, EnumSet.of(fault), boundTicks, Part.RETURNS), stateCount);
    }

    /** The sleeper finds that nobody leaves the queue before it. */
    @Test
    void theHeadAndItsDeputyDie() {
        assertProtocol("two deaths", withFaults(3, 2, EnumSet.of(Fault.DEATH), 6, Part.NONE), 40_814);
    }

    @Test
    void entriesVanishAndTheQueueDoesNotExpireBesideAWaiter() {
        assertProtocol("expiry of the queue", withoutFaults(3, Part.EXPIRY), 213_807);
        assertProtocol("expiry of the queue, one fault",
                withFaults(2, 1, EnumSet.of(Fault.DEATH, Fault.DISCONNECT, Fault.HANG), 5, Part.EXPIRY), 113_791);
    }

    @Test
    @Tag("exhaustive")
    void theQueueDoesNotExpireBesideAWaiterOfThree() {
        assertProtocol("expiry of the queue, a hang",
                withFaults(3, 1, EnumSet.of(Fault.HANG), 5, Part.EXPIRY), 4_598_275);
    }

    /** A head that leaves need not tell the next one, which asks again soon. The bounds are the least ones. */
    @Test
    void withoutMessagesTheNextOneAsksSoon() {
        assertEnds("no messages, 4 ticks", new CrowdSearch(Rule.PRODUCT, withoutMessages(NO_FAULT, 4)), 34_476);
        assertFound("no messages, 3 ticks", new CrowdSearch(Rule.PRODUCT, withoutMessages(NO_FAULT, 3)), SLEEPS);
    }

    @ParameterizedTest
    @CsvSource({
        "DEATH, 8, 47703", "DISCONNECT, 8, 200075", "LOST_PUSH, 8, 229955", "NO_QUORUM, 4, 83586",
        "SILENT_EXPIRY, 4, 79571", "QUEUE_LOST, 4, 216413", "FAILOVER, 4, 101824", "CLOCK_SET_BACK, 4, 258863"
    })
    void withoutMessagesAFaultDelaysTheOthersOnce(Fault fault, int boundTicks, long stateCount) {
        assertProtocol("no messages, " + fault, withoutMessages(EnumSet.of(fault), boundTicks), stateCount);
        assertFound("no messages, " + fault + ", " + (boundTicks - 1) + " ticks",
                new CrowdSearch(Rule.PRODUCT, withoutMessages(EnumSet.of(fault), boundTicks - 1)), SLEEPS);
    }

    @Test
    @Tag("exhaustive")
    void withoutMessagesAClientThatHangsDelaysTheOthersOnce() {
        assertProtocol("no messages, HANG", withoutMessages(EnumSet.of(Fault.HANG), 8), 977_642);
    }

    // ---- wrong rules ------------------------------------------------------------------------------------------------

    /** What a search is to find, and in which scope. */
    private record Violation(String text, Scope scope) {
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "PRODUCT")
    void findsTheErrorOfEachWrongRule(Rule rule) {
        Violation violation = violationOf(rule);
        assertFound(rule, new CrowdSearch(rule, violation.scope), violation.text);
    }

    private static Violation violationOf(Rule rule) {
        return switch (rule) {
            case PUSH_IS_GRANT -> new Violation("two holders", withoutFaults(3, Part.NONE));
            case NO_PROMOTION, WATCH_WITHOUT_READING, NO_WATCH_AFTER_REFUSAL, ENTRY_LEFT, LEAVES_SILENTLY ->
                new Violation(SLEEPS, withoutFaults(3, Part.NONE));
            case ALL_WATCH -> new Violation("wakes 3 clients", withoutFaults(3, Part.NONE));
            case DROPPED_AT_ONCE, SUSPECT_AFTER_REFUSAL, LOOK_IS_ANSWER ->
                new Violation(PRECEDES, withoutFaults(3, Part.NONE));
            case NO_DEPUTY, HEAD_NOT_CHECKED, SILENT_HEAD_STAYS, DEPUTY_NOT_TOLD ->
                new Violation(SLEEPS, with(Fault.HANG, 5));
            case CHECKER_CLAIMS -> new Violation(PRECEDES, with(Fault.HANG, 5));
            case SILENT_ENTRY_STAYS -> new Violation("wait again for a client that was passed", with(Fault.HANG, 5));
            case DEAD_ENTRIES_STAY, DEPUTY_LEAVES_UNCHECKED -> new Violation(SLEEPS, with(Fault.DEATH, 3));
            case PUSHES_ONLY -> new Violation(SLEEPS, with(Fault.SILENT_EXPIRY, 1));
            case STRAY_MESSAGE_IGNORED -> new Violation(SLEEPS, with(Fault.DISCONNECT, 3));
            case REENTRY_FIRST -> new Violation(PRECEDES, with(Fault.DISCONNECT, 3));
            case REENTRY_LAST -> new Violation(PRECEDES, with(Fault.NO_QUORUM, 0));
            case NO_REENTRY -> new Violation(SLEEPS, with(Fault.FAILOVER, 0));
            case SCORE_KEPT -> new Violation(PRECEDES, with(Fault.CLOCK_SET_BACK, 0));
            case RETURN_PRECEDES ->
                new Violation("precedes the queue again and again", withoutFaults(3, Part.RETURNS));
            case ENTER_ALWAYS -> new Violation("a queue that nobody is in", withoutFaults(3, Part.RETURNS));
            case RELEASE_ASKS -> new Violation("with each release", withoutFaults(3, Part.RETURNS));
            case QUEUE_EXPIRES_SOON, ONLY_LOOKS ->
                new Violation("expires beside a waiter", withoutFaults(3, Part.EXPIRY));
            case QUEUE_STAYS -> new Violation("stays though nobody waits",
                    withFaults(2, 1, EnumSet.of(Fault.DEATH), 5, Part.EXPIRY));
            case PASS_DROPS_HEAD -> new Violation(PRECEDES, withoutFaults(3, Part.RETURNS));
            case PASS_FORGETS ->
                new Violation("precedes the queue again and again", withoutFaults(2, Part.RETURNS));
            case NEVER_GIVES_WAY ->
                new Violation("passes the others after its turn", withoutFaults(2, Part.RETURNS));
            case PLACE_ONLY, STUCK_PLACE_UNREAD ->
                new Violation(SLEEPS, withFaults(3, 2, EnumSet.of(Fault.DEATH), 6, Part.NONE));
            case LOST_ENTRY_STAYS -> new Violation(SLEEPS, with(Fault.QUEUE_LOST, 6));
            case NEW_HEAD_DOES_NOT_LOOK -> new Violation(SLEEPS, with(Fault.SILENT_EXPIRY, 1));
            case LOOK_OUTLIVES_MESSAGE -> new Violation(SLEEPS, with(Fault.DEATH, 3));
            case PRECEDED_ENTERS -> new Violation(SLEEPS, withoutMessages(EnumSet.of(Fault.DEATH), 14));
            case CHECKED_AT_ONCE, LEAVER_DROPS_UNTOLD -> new Violation(PRECEDES, withoutMessages(NO_FAULT, 4));
            case ORDER_HIDES_ERROR, KEPT_ENTRY_HAS_PLACE, KEPT_ENTRY_IS_SILENT ->
                new Violation(SLEEPS, with(Fault.WRITES_REFUSED, 3));
            case PRODUCT -> throw new AssertionError("it has none");
        };
    }
}
