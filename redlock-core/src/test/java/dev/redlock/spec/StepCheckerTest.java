package dev.redlock.spec;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Each rule rejects a step that was made by hand, after steps that are right. */
class StepCheckerTest {
    private static final String START = """
            0 client A 10000 2000000 0 n0,n1,n2
            0 client B 10000 2000000 0 n0,n1,n2
            """;
    /** The lease a of client A: 1 s less 12 ms after its first byte. */
    private static final String HELD = START + """
            0 ask a A n0 r - 1000000000
            0 ask a A n1 r - 1000000000
            1 executeAcquire a n0 granted
            2 executeAcquire a n1 granted
            3 win a n0,n1 988000000 3
            """;
    private static final String MARKS = "0 mark n0\n0 mark n1\n0 mark n2\n";
    private static final String EXTENDING = HELD + """
            4 extend a 1
            4 extend a 1 n0 1000000000
            4 extend a 1 n1 1000000000
            """;
    private static final String FENCED = START + """
            0 ask a A n0 r - 1000000000
            0 ask a A n1 r - 1000000000
            1 executeAcquire a n0 granted 7
            2 executeAcquire a n1 granted 8
            """;

    private static String wrong(Rule rule) {
        return switch (rule) {
            case KeysOutlive -> HELD + "9 expire n0 a r";
            case HoldersStop -> "";
            case KeysKept -> HELD + "9 drop n0 a r world";
            case RestartsSeen -> HELD + "8 restart n0\n9 unseen n0";
            case OneProcess -> START + "0 ask a A n0 r - 1000000000\n1 restart n0\n9 executeAcquire a n0 granted";
            case ListsOverlap -> HELD + "4 client C 10000 2000000 0 n1,n2,n3\n9 ask c C n2 r - 1000000000";
            case SetIfFree -> HELD + "4 ask b B n0 r - 1000000000\n9 executeAcquire b n0 granted";
            case DeleteIfOwn -> HELD + """
                    4 ask b B n0 r - 1000000000
                    5 finish b
                    5 release b n0
                    6 executeRelease b n0
                    9 keys n0
                    """;
            case ExtendIfOwn -> EXTENDING + """
                    5 finish a
                    5 release a n0
                    6 executeRelease a n0
                    6 ask b B n0 r - 1000000000
                    7 executeAcquire b n0 granted
                    9 executeExtension a n0 set 1
                    """;
            case RefusalNoVote -> EXTENDING + """
                    5 executeExtension a n0 held 1
                    6 executeExtension a n1 refused 1
                    9 winExtension a n0,n1 988000004
                    """;
            case RepairNoVote -> HELD + "4 extend a 1\n4 extend a 1 n2 1000000000\n9 executeExtension a n2 held 1";
            case NewTokens -> HELD + "4 finish a\n9 ask a A n0 r - 1000000000";
            case MoreThanHalf -> START + "0 ask a A n0 r - 1000000000\n1 executeAcquire a n0 granted\n"
                    + "9 win a n0 988000000 3";
            case OfAllNodes -> START + "0 ask a A n0 r - 1000000000\n1 executeAcquire a n0 granted\n"
                    + "9 win a n0 988000000 3";
            default -> otherWrong(rule);
        };
    }

    private static String otherWrong(Rule rule) {
        return switch (rule) {
            case AllOfSet -> START + """
                    0 ask a A n0 r - 1000000000
                    1 executeAcquire a n0 granted
                    2 ask b B n0 r,s - 1000000000
                    9 executeAcquire b n0 granted
                    """;
            case GuardAttempts -> HELD + "4 restart n0\n9 ask b B n0 r - 1000000000";
            case FewLost, WholeGroup, MarkOfProcess, VotersAtStart -> "0 fresh\n" + MARKS + wrongInFreshGroup(rule);
            case Silence -> HELD + "4 failOver n0\n5 formerEnds n0\n9 ask b B n0 r - 1000000000";
            case SilenceServed -> HELD + "4 failOver n0\n9 ask b B n0 r - 1000000000";
            case GuardExtensions -> HELD + "4 restart n0\n5 extend a 1\n9 extend a 1 n0 1000000000";
            case AllListsExtend -> """
                    0 client A 10000 2000000 0 n0,n1,n2 n2,n3,n4
                    0 ask a A n0 r - 1000000000
                    0 ask a A n1 r - 1000000000
                    0 ask a A n2 r - 1000000000
                    0 ask a A n3 r - 1000000000
                    1 executeAcquire a n0 granted
                    1 executeAcquire a n1 granted
                    1 executeAcquire a n2 granted
                    1 executeAcquire a n3 granted
                    2 win a n0,n1,n2,n3 988000000 2
                    4 extend a 1
                    4 extend a 1 n0 1000000000
                    4 extend a 1 n1 1000000000
                    5 executeExtension a n0 held 1
                    5 executeExtension a n1 held 1
                    9 winExtension a n0,n1 988000004
                    """;
            case Phases -> HELD + "9 release a n0";
            case Sent -> START + "0 ask a A n0 r - 1000000000\n9 executeAcquire a n1 granted";
            case Exclusion -> "";
            case FirstByte -> FENCED + "9 win a n0,n1 988000009 9";
            case OwnT1 -> EXTENDING + """
                    5 executeExtension a n0 held 1
                    6 executeExtension a n1 held 1
                    9 winExtension a n0,n1 988000005
                    """;
            case OldVotesEnd -> EXTENDING + """
                    5 extend a 2
                    5 extend a 2 n0 1000000000
                    6 executeExtension a n0 held 1
                    7 executeExtension a n1 held 1
                    9 winExtension a n0,n1 988000005
                    """;
            case LowerFirst -> HELD + "4 extend a 1\n9 extend a 1 n0 500000000";
            case CountersKept -> HELD.replace("n0 granted", "n0 granted 7") + """
                    4 finish a
                    4 release a n0
                    5 executeRelease a n0
                    6 ask b B n0 r - 1000000000
                    9 executeAcquire b n0 granted 7
                    """;
            case ExactlyEqual -> FENCED + "9 win a n0,n1 988000000 9 7";
            case RaiseIfOwn -> FENCED + "3 finish a\n3 release a n0\n4 executeRelease a n0\n5 startRaise a n0 8\n"
                    + "9 executeRaise a n0 raised";
            default -> throw new IllegalArgumentException(rule.name());
        };
    }

    private static String wrongInFreshGroup(Rule rule) {
        return switch (rule) {
            case FewLost -> HELD + "4 restart n0\n9 restart n1";
            case WholeGroup -> HELD + "4 restart n0\n4 restart n2\n9 mark n0";
            case MarkOfProcess -> HELD + "4 restart n2 kept\n9 ask b B n2 r - 1000000000";
            default -> START + """
                    0 ask a A n0 r - 1000000000
                    1 executeAcquire a n0 granted
                    2 restart n0
                    3 restart n1
                    4 restart n2
                    5 mark n0
                    5 mark n1
                    9 ask a A n1 r - 1000000000
                    """;
        };
    }

    @TestFactory
    Stream<DynamicTest> eachRuleRejectsAWrongStep() {
        // HoldersStop is the user's duty. Two holders come from another wrong step, so they have a test of their own.
        return EnumSet.complementOf(EnumSet.of(Rule.HoldersStop, Rule.Exclusion))
                .stream()
                .map(rule -> DynamicTest.dynamicTest(rule.name(), () -> assertRejected(rule, wrong(rule))));
    }

    private static void assertRejected(Rule rule, String text) {
        StepChecker checker = new StepChecker(Set.of());
        List<Step> steps = text.lines().map(Step::parse).toList();
        for (Step step : steps.subList(0, steps.size() - 1)) {
            assertDoesNotThrow(() -> checker.accept(step));
        }
        Step last = steps.get(steps.size() - 1);
        Rejected rejected = assertThrows(Rejected.class, () -> checker.accept(last));
        // One check of the checker has the names of several rules.
        Set<Rule> sameCheck = EnumSet.of(rule);
        if (rule == Rule.OfAllNodes) {
            sameCheck.add(Rule.MoreThanHalf);
        } else if (rule == Rule.OneProcess) {
            sameCheck.add(Rule.Sent);
        } else if (rule == Rule.AllOfSet) {
            sameCheck.add(Rule.SetIfFree);
        }
        assertEquals(true, sameCheck.contains(rejected.rule()), rejected::getMessage);
        assertEquals(last, rejected.step());
    }

    /** Without the rule that forbids them, two holders are found by the exclusion. */
    @Test
    void twoHoldersAreRejected() {
        StepChecker checker = new StepChecker(Set.of(Rule.SetIfFree));
        String second = """
                4 ask b B n0 r - 1000000000
                4 ask b B n1 r - 1000000000
                5 executeAcquire b n0 granted
                6 executeAcquire b n1 granted
                """;
        (HELD + second).lines().map(Step::parse).forEach(checker::accept);
        Rejected rejected = assertThrows(Rejected.class,
                () -> checker.accept(Step.parse("9 win b n0,n1 988000004 9")));
        assertEquals(Rule.Exclusion, rejected.rule());
    }

    /** The world may take keys of a lease, but the client's older rounds may not take a majority of them. */
    @Test
    void olderRoundsTakeNoMajorityWhateverTheWorldTakes() {
        String ofThree = HELD.replace("0 ask a A n1", "0 ask a A n2 r - 1000000000\n0 ask a A n1")
                .replace("3 win a n0,n1", "2 executeAcquire a n2 granted\n3 win a n0,n1,n2");
        StepChecker checker = new StepChecker(Set.of(Rule.KeysKept));
        (ofThree + "4 drop n0 a r world\n5 drop n1 a r world\n6 drop n2 a r older").lines()
                .map(Step::parse)
                .forEach(checker::accept);
        StepChecker other = new StepChecker(Set.of(Rule.KeysKept));
        (ofThree + "4 drop n0 a r older").lines().map(Step::parse).forEach(other::accept);
        assertEquals(Rule.KeysKept,
                assertThrows(Rejected.class, () -> other.accept(Step.parse("5 drop n1 a r older"))).rule());
    }

    /** A fresh group may forget a lease only if restarts took a majority of its nodes. */
    @Test
    void aFreshGroupForgetsALeaseOfWhichRestartsTookAMajority() {
        String ask = "8 ask b B n0 r - 1000000000\n9 executeAcquire b n0 granted";
        // n1 had lost the key before.
        assertFresh(null, HELD + "4 drop n1 a r world\n5 restart n1\n6 restart n0\n7 mark n0\n" + ask,
                Rule.KeysKept);
        assertFresh(Rule.WholeGroup, HELD + "4 restart n0\n5 restart n2\n7 mark n0");
        assertFresh(Rule.WholeGroup, HELD + "4 drop n1 a r world\n5 restart n1 kept\n6 restart n0\n7 mark n0",
                Rule.KeysKept);
        assertFresh(Rule.KeysKept, HELD + "9 drop n0 a r world");
    }

    /** It may forget an attempt only if all nodes have restarted since its start. */
    @Test
    void aFreshGroupForgetsAnAttemptThatCannotWin() {
        String asked = START + "0 ask a A n0 r - 1000000000\n1 executeAcquire a n0 granted\n";
        String two = "4 restart n0\n4 restart n1\n";
        assertFresh(null, asked + two + "4 restart n2\n5 mark n0");
        assertFresh(Rule.WholeGroup, asked + two + "5 mark n0");
    }

    /** The former owner grants and renews while it serves; the votes of the new one count after the silence. */
    @Test
    void aFormerOwnerServes() {
        String steps = START + """
                0 ask a A - r - 1000000000
                0 ask a A n1 r - 1000000000
                1 failOver n0
                2 executeAcquire a n1 granted
                3 formerGrants n0 a 0
                4 win a n0,n1 988000000 4
                5 extend a 1
                5 extend a 1 - 1000000000
                5 extend a 1 n1 1000000000
                6 formerRenews n0 a 1
                7 executeExtension a n1 held 1
                8 winExtension a n0,n1 988000005
                9 formerEnds n0
                10 finish a
                11 ask b B n0 r - 1000000000
                12 executeAcquire b n0 granted
                """;
        StepChecker checker = new StepChecker(Set.of());
        steps.lines().map(Step::parse).forEach(checker::accept);
        assertRejected(Rule.SetIfFree, HELD + "4 failOver n0\n4 ask b B - r - 1000000000\n9 formerGrants n0 b 0");
        assertRejected(Rule.RepairNoVote, HELD + "4 failOver n2\n9 formerRenews n2 a 1");
        assertRejected(Rule.KeysOutlive, HELD + "4 failOver n0\n9 formerLoses n0 a");
        assertRejected(Rule.Sent, HELD + "4 failOver n0 a\n5 formerEnds n0\n9 formerRenews n0 a 1");
        assertRejected(Rule.Sent, START + "0 ask a A n0 r - 1000000000\n1 failOver n0\n9 executeAcquire a n0 granted");
    }

    private static void assertFresh(Rule rule, String text, Rule... off) {
        Set<Rule> all = EnumSet.of(Rule.FewLost, off);
        StepChecker checker = new StepChecker(all);
        List<Step> steps = ("0 fresh\n" + MARKS + text).lines().map(Step::parse).toList();
        steps.subList(0, steps.size() - 1).forEach(checker::accept);
        Step last = steps.get(steps.size() - 1);
        if (rule == null) {
            checker.accept(last);
        } else {
            assertEquals(rule, assertThrows(Rejected.class, () -> checker.accept(last)).rule());
        }
    }

    /** A rule that does not hold rejects nothing: the names are those of the specification. */
    @Test
    void aRuleThatIsOffRejectsNothing() {
        for (Rule rule : EnumSet.of(Rule.KeysOutlive, Rule.KeysKept, Rule.OneProcess, Rule.ListsOverlap,
                Rule.FewLost, Rule.WholeGroup, Rule.MarkOfProcess, Rule.VotersAtStart, Rule.SetIfFree, Rule.NewTokens,
                Rule.GuardExtensions, Rule.CountersKept, Rule.RaiseIfOwn)) {
            StepChecker checker = new StepChecker(EnumSet.of(rule));
            wrong(rule).lines().map(Step::parse).forEach(step -> assertDoesNotThrow(() -> checker.accept(step)));
        }
    }

    @Test
    void rightStepsAreAccepted() {
        String steps = EXTENDING + """
                5 executeExtension a n0 held 1
                6 executeExtension a n1 held 1
                7 winExtension a n0,n1 988000004
                8 valid a 900000000
                9 keys n0 r=a
                10 finish a
                11 release a n0
                12 executeRelease a n0
                13 keys n0
                14 ask b B n0 r reader 1000000000
                15 ask c A n0 r reader 1000000000
                16 executeAcquire b n0 granted
                17 executeAcquire c n0 granted
                18 keys n0 r=b,r=c
                """;
        StepChecker checker = new StepChecker(Set.of());
        steps.lines().map(Step::parse).forEach(checker::accept);
        assertEquals(steps.lines().count(), checker.stepCount());
    }

    /** The rules that the specification can switch off have the same names there. */
    @Test
    void theRulesHaveTheNamesOfTheSpecification() throws IOException {
        StringBuilder all = new StringBuilder();
        for (String file : List.of("redlock", "fresh", "clusters", "timed", "fencing")) {
            all.append(Files.readString(Path.of("../docs/internals/spec/" + file + ".als")));
        }
        String text = all.toString();
        Set<String> own = new TreeSet<>(List.of("Phases", "Sent", "Exclusion"));
        for (Rule rule : Rule.values()) {
            boolean isOfSpecification = text.contains("  " + rule + ", ") || text.contains("  " + rule + " ")
                    || text.contains("sig " + rule + " extends Rule");
            assertEquals(!own.contains(rule.name()), isOfSpecification, rule.name());
        }
    }
}
