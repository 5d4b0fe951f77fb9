package dev.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.redlock.api.IdlePolicy;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.api.RetryPolicy;
import dev.redlock.api.TransportKind;
import dev.redlock.engine.AcquireSpec;
import dev.redlock.engine.ClientConfig;
import dev.redlock.engine.LeaseTerms;
import dev.redlock.resp.SafeText;
import dev.redlock.testing.Refusal;
import dev.redlock.transport.NettyTransport;
import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Every option: null, its limits, one step outside of each limit, and after the context is concluded. */
class RedlockContextTest {

    private static final String CONCLUDED = "this RedlockContext is concluded, a client uses it: make a new one";
    /** No operating system has both. */
    private static final TransportKind UNAVAILABLE = NettyTransport.EPOLL.refusal(false) == null
            ? TransportKind.KQUEUE
            : TransportKind.EPOLL;

    private final RedlockContext context = new RedlockContext();

    private static Arguments range(String what, String unit, long min, long max,
            Option option) {
        return Arguments.of(what, unit, min, max, option);
    }

    static Stream<Arguments> ranges() {
        return Stream.of(range("connectTimeout", "ms", 1, 60_000, (c, v) -> c.connectTimeout(Duration.ofMillis(v))),
                range("unansweredTimeout", "ms", 100, 600_000,
                        (c, v) -> c.unansweredTimeout(Duration.ofMillis(v))),
                range("clockSampleInterval", "ms", 1, 60_000,
                        (c, v) -> c.clockSampleInterval(Duration.ofMillis(v))),
                range("resourceLengthMax", "bytes", 1, 16_384, (c, v) -> c.resourceLengthMax((int) v)),
                range("inFlightMax", "acquisitions", 1, 1 << 22, (c, v) -> c.inFlightMax((int) v)),
                range("waitersMax", "waiters", 0, 1 << 22, (c, v) -> c.waitersMax((int) v)),
                range("localHandoffsMax", "handoffs (0 for no bound)", 0, 1 << 22,
                        (c, v) -> c.localHandoffsMax((int) v)),
                range("autoExtendedLeasesMax", "leases", 0, 1 << 22, (c, v) -> c.autoExtendedLeasesMax((int) v)),
                range("undeliveredReleasesMax", "releases", 0, 1 << 22, (c, v) -> c.undeliveredReleasesMax((int) v)),
                range("event loop count", "loops", 1, 64, (c, v) -> c.eventLoops((int) v)),
                range("unanswered requests per node", "requests", 16, 1 << 24,
                        (c, v) -> c.nodeBackPressure((int) v, 4096)),
                range("unsent bytes per node", "bytes", 4096, 1 << 30, (c, v) -> c.nodeBackPressure(16, (int) v)),
                range("maxTtl", "ms", 100, 86_400_000, (c, v) -> c.maxTtl(Duration.ofMillis(v))),
                range("fenceCounterTtl", "ms", 1_000, 315_360_000_000L,
                        (c, v) -> c.fenceCounterTtl(Duration.ofMillis(v))),
                range("nodeTimeout", "ms", 1, 60_000, (c, v) -> c.nodeTimeout(Duration.ofMillis(v))),
                range("drift constant", "ns", 0, 60_000_000_000L, (c, v) -> c.drift(0, Duration.ofNanos(v))),
                range("blocking spin", "ns", 0, 10_000_000, (c, v) -> c.blockingSpin(Duration.ofNanos(v))));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("ranges")
    void eachOptionAcceptsItsLimitsAndRejectsOneStepBeyond(String what, String unit, long min,
            long max, Option option) {
        assertSame(context, option.set(context, min));
        assertSame(context, option.set(context, max));
        Refusal.ofArgument(
                what + " " + (max + 1) + " is out of range: " + min + " to " + max + " " + unit + " are allowed",
                () -> option.set(context, max + 1));
        boolean isDuration = unit.equals("ms") || unit.equals("ns");
        if (!isDuration) {
            Refusal.ofArgument(
                    what + " " + (min - 1) + " is out of range: " + min + " to " + max + " " + unit + " are allowed",
                    () -> option.set(context, min - 1));
        }
    }

    @Test
    void durationsBelowTheirRangeAreRejected() {
        Refusal.ofArgument("maxTtl 99 is out of range: 100 to 86400000 ms are allowed",
                () -> context.maxTtl(Duration.ofMillis(99)));
        Refusal.ofArgument("fenceCounterTtl 999 is out of range: 1000 to 315360000000 ms are allowed",
                () -> context.fenceCounterTtl(Duration.ofMillis(999)));
        for (Duration tooShort : new Duration[]{Duration.ZERO, Duration.ofNanos(999_999), Duration.ofMillis(-1),
            Duration.ofSeconds(Long.MIN_VALUE)}) {
            Refusal.ofArgument("maxTtl " + tooShort + " is too short: at least 1 ms is needed",
                    () -> context.maxTtl(tooShort));
            Refusal.ofArgument("nodeTimeout " + tooShort + " is too short: at least 1 ms is needed",
                    () -> context.nodeTimeout(tooShort));
        }
        Refusal.ofArgument("unansweredTimeout 99 is out of range: 100 to 600000 ms are allowed",
                () -> context.unansweredTimeout(Duration.ofMillis(99)));
        Refusal.ofArgument("connectTimeout PT0S is too short: at least 1 ms is needed",
                () -> context.connectTimeout(Duration.ZERO));
        Refusal.ofArgument("clockSampleInterval PT0.000001S is too short: at least 1 ms is needed",
                () -> context.clockSampleInterval(Duration.ofNanos(1_000)));
        assertSame(context, context.clockSampleInterval(Duration.ZERO), "off");
        Duration negative = Duration.ofNanos(-1);
        Refusal.ofArgument("default wait PT-0.000000001S is negative: give zero or more",
                () -> context.defaultWait(negative));
        Refusal.ofArgument("minimum validity PT-0.000000001S is negative: give zero or more",
                () -> context.minValidity(negative));
        Refusal.ofArgument("drift constant PT-0.000000001S is negative: give zero or more",
                () -> context.drift(0, negative));
        Refusal.ofArgument("clockSampleInterval PT-0.000000001S is negative: give zero or more",
                () -> context.clockSampleInterval(negative));
        Refusal.ofArgument("close timeout PT-0.000000001S is negative: give zero or more",
                () -> context.closeTimeout(negative));
        Refusal.ofArgument("blocking spin PT-0.000000001S is negative: give zero or more",
                () -> context.blockingSpin(negative));
    }

    @Test
    void driftRateIsAtMostHalfOfTheTime() {
        context.drift(0, Duration.ZERO).drift(500_000, Duration.ZERO);
        for (int rate : new int[]{-1, 500_001, Integer.MIN_VALUE, Integer.MAX_VALUE}) {
            Refusal.ofArgument("drift rate " + rate + " is out of range: 0 to 500000 parts per million are allowed",
                    () -> context.drift(rate, Duration.ZERO));
        }
    }

    @Test
    void hugeDurationsSaturate() {
        Duration forEver = Duration.ofSeconds(Long.MAX_VALUE);
        ClientConfig config = new RedlockContext().nodes("h:1")
                .defaultWait(forEver)
                .closeTimeout(forEver)
                .conclude();
        assertEquals(Long.MAX_VALUE, config.attempts().defaultWaitNs());
        assertEquals(Long.MAX_VALUE, config.loops().closeTimeoutNs());
        Refusal.ofArgument("maxTtl 9223372036854 is out of range: 100 to 86400000 ms are allowed",
                () -> context.maxTtl(forEver));
    }

    @Test
    void nullIsRejectedWithItsName() {
        Refusal.ofNull("node addresses are null", () -> context.nodes((String[]) null));
        Refusal.ofNull("node address is null: write host:port, redis://[user:password@]host[:port], rediss:// for TLS,"
                + " or unix:///path",
                () -> context.nodes("h:1", null));
        Refusal.ofNull("key prefix is null: give \"\" for none", () -> context.keyPrefix(null));
        Refusal.ofNull("client name is null: give \"\" for none", () -> context.clientName(null));
        Refusal.ofNull("maxTtl is null: give a duration", () -> context.maxTtl(null));
        Refusal.ofNull("fenceCounterTtl is null: give a duration", () -> context.fenceCounterTtl(null));
        Refusal.ofNull("default wait is null: give a duration", () -> context.defaultWait(null));
        Refusal.ofNull("nodeTimeout is null: give a duration", () -> context.nodeTimeout(null));
        Refusal.ofNull("minimum validity is null: give a duration", () -> context.minValidity(null));
        Refusal.ofNull("drift constant is null: give a duration", () -> context.drift(0, null));
        Refusal.ofNull("close timeout is null: give a duration", () -> context.closeTimeout(null));
        Refusal.ofNull("blocking spin is null: give a duration", () -> context.blockingSpin(null));
        Refusal.ofNull("restart guard mode is null", () -> context.restartGuard(null));
        Refusal.ofNull("retry policy is null", () -> context.retryPolicy(null));
        Refusal.ofNull("idle policy is null", () -> context.idlePolicy(null));
        Refusal.ofNull("transport is null", () -> context.transport(null));
        Refusal.ofNull("event loops are null: give at least one, or the number of loops to run",
                () -> context.eventLoops((EventLoop[]) null));
        Refusal.ofNull("an event loop is null: each must be a running Netty 4.2 loop",
                () -> context.eventLoops((EventLoop) null));
        Refusal.ofNull("context is null", () -> Redlock.connect((RedlockContext) null));
    }

    @Test
    void addressesAreValidatedWhenTheyAreSet() {
        Refusal.ofArgument("node address \"nowhere\" is invalid: the port is missing;"
                + " write nowhere:6379 if the node has the default port",
                () -> context.nodes("nowhere"));
        Refusal.ofArgument("address 2 of 3: node address \"redis://...\" is invalid: the port must be a number"
                + " from 1 to 65535; write host:port, redis://[user:password@]host[:port], rediss:// for TLS, or"
                + " unix:///path",
                () -> new RedlockContext().nodes("a:1", "redis://ann:secret", "c:1"));
        Refusal.ofArgument("node address H:1 is given twice: one server has one vote, so each node must be a server"
                + " of its own", () -> context.nodes("h:1", "redis://:secret@H:1"));
        String[] tooMany = IntStream.rangeClosed(1, 64).mapToObj(i -> "m:" + i).toArray(String[]::new);
        Refusal.ofArgument("64 nodes are too many: at most 63", () -> new RedlockContext().nodes(tooMany));
        assertEquals(63, new RedlockContext().nodes(List.of(tooMany).subList(1, 64).toArray(new String[0]))
                .conclude()
                .nodes()
                .addresses()
                .size());
    }

    /** Lists of many configurations are split at each comma. */
    @Test
    void theSplitPartsOfAnAddressWithSentinelsAreOneAddress() {
        assertEquals("[redis-sentinel://s1:26379,s2:26379/mymaster]",
                addresses("redis-sentinel://s1:26379", "s2:26379/mymaster"));
        assertEquals("[a:1, rediss-sentinel://s1:26379,s2:26379,s3:1/m, b:2, redis-sentinel://s1:26379/n]",
                addresses("a:1", "rediss-sentinel://u:p@s1", "s2", "s3:1/m", "b:2", "redis-sentinel://s1/n"));
        assertEquals("[redis-sentinel://s1:26379,s2:26379/m]", addresses("redis-sentinel://:a", "b@s1", "s2/m"));
        assertEquals("[redis-sentinel://s1:26379,s2:26379/m, a:1]", addresses("redis-sentinel://s1,s2/m", "a:1"));
        RedlockContext next = new RedlockContext().nodes("a:1").nextNodes("redis-sentinel://s1", "s2/m");
        assertEquals("[a:1, redis-sentinel://s1:26379,s2:26379/m]", next.conclude().nodes().addresses().toString());
    }

    private static String addresses(String... given) {
        return new RedlockContext().nodes(given).conclude().nodes().addresses().toString();
    }

    /** The number counts addresses, not their parts. */
    @Test
    void anAddressWithSentinelsAndWithoutANameIsAnErrorThatKeepsAllSentinels() {
        String name = ", with the name that follows \"sentinel monitor\" in the configuration of the Sentinels";
        String missing = "address of Sentinels is invalid: the name of the primary is missing; end the address with ";
        Refusal.ofArgument(missing + "s2:26379/mymaster" + name, () -> context.nodes("redis-sentinel://s1", "s2"));
        Refusal.ofArgument("address 2 of 3: " + missing + "s2:26379/mymaster" + name,
                () -> context.nodes("a:1", "redis-sentinel://s1", "s2", "redis://b:1"));
        Refusal.ofArgument("address 1 of 2: " + missing + "s1:26379/mymaster" + name,
                () -> context.nodes("redis-sentinel://s1", "redis-sentinel://s1/m"));
        Refusal.ofArgument("address 1 of 2: address of Sentinels is invalid: the name of the primary follows a slash,"
                + " not a #; write host:port/m", () -> context.nodes("redis-sentinel://s1", "s2#m", "b:1"));
        Refusal.ofArgument("address 3 of 3: node address \"nowhere\" is invalid: the port is missing;"
                + " write nowhere:6379 if the node has the default port",
                () -> new RedlockContext().nodes("a:1", "redis-sentinel://s1", "s2/m", "nowhere"));
        Refusal.ofNull("node address is null: write host:port, redis://[user:password@]host[:port], rediss:// for TLS,"
                + " or unix:///path", () -> new RedlockContext().nodes("redis-sentinel://s1/m", null));
        Refusal.ofArgument("address 1 of 2: " + missing + "s1:26379/mymaster" + name,
                () -> new RedlockContext().nodes("redis-sentinel://s1", null));
    }

    @Test
    void clientNameMustBeValidForRedis() {
        for (String name : new String[]{"a b", "a\nb", "\u007f", "name\u00e9", "tab\t"}) {
            Refusal.ofArgument("client name \"" + SafeText.of(name) + "\" has a blank or a special character,"
                    + " which Redis refuses: use printable ASCII without blanks", () -> context.clientName(name));
        }
        String longest = "n".repeat(64);
        Refusal.ofArgument(
                "client name \"" + longest + "n\" has 65 characters and at most 64 are allowed, because nodes"
                        + " keep and list it for each connection: use a shorter name",
                () -> context.clientName(longest + "n"));
        context.nodes("h:1").clientName(longest).clientName("orders-1!~").clientName("");
        assertEquals(null, context.conclude().nodes().options().access().clientName());
    }

    @Test
    void aNameInValuesIsTheClientsOwnAndShort() {
        String longest = "n".repeat(64);
        assertEquals(longest, named(longest).conclude().names().nameInValues());
        assertEquals("a'b\"c@\\{$6}", named("a'b\"c@\\{$6}").conclude().names().nameInValues());
        assertEquals(null, named("orders-1").nameInValues(false).conclude().names().nameInValues());
        assertEquals(null, new RedlockContext().nodes("h:1").conclude().names().nameInValues());
        for (String name : new String[]{"", "redlock"}) {
            Refusal.ofArgument("nameInValues is on and clientName is \"" + name + "\": each client needs a name of its"
                    + " own; set clientName, for example to host and process id", named(name)::conclude);
        }
        for (String name : new String[]{"a b", "a\r\nb", "\u202eorders", "orders\u0000", "\u00e9", "\ud83d\ude00"}) {
            Refusal.ofArgument("client name \"" + SafeText.of(name) + "\" has a blank or a special character,"
                    + " which Redis refuses: use printable ASCII without blanks", () -> named(name));
        }
    }

    private static RedlockContext named(String name) {
        return new RedlockContext().nodes("h:1").clientName(name).nameInValues(true);
    }

    @Test
    void reconnectDelayIsARange() {
        context.reconnectDelay(Duration.ofMillis(1), Duration.ofMillis(1))
                .reconnectDelay(Duration.ofSeconds(600), Duration.ofSeconds(600));
        Refusal.ofArgument("shortest reconnectDelay PT0S is too short: at least 1 ms is needed",
                () -> context.reconnectDelay(Duration.ZERO, Duration.ofMillis(1)));
        for (int[] range : new int[][]{{2, 1}, {1, 600_001}}) {
            Refusal.ofArgument("reconnectDelay range " + range[0] + " to " + range[1]
                    + " ms is out of range: 1 <= min <= max <= 600000 is needed",
                    () -> context.reconnectDelay(Duration.ofMillis(range[0]), Duration.ofMillis(range[1])));
        }
    }

    @Test
    void eventLoopsRejectsAnEmptyList() {
        Refusal.ofArgument("no event loop is given: give one, or the number of loops to run",
                () -> context.eventLoops());
    }

    @Test
    void concludeRejectsContradictionsNamingBothValues() {
        Refusal.ofArgument("no nodes are configured: give at least one address", () -> context.conclude());
        Refusal.ofArgument("no nodes are configured: give at least one address", () -> Redlock.connect());
        Refusal.ofArgument("nodeTimeout 2000 ms is longer than maxTtl 1000 ms: no lock could outlive one slow answer",
                () -> new RedlockContext().nodes("h:1")
                        .maxTtl(Duration.ofSeconds(1))
                        .nodeTimeout(Duration.ofSeconds(2))
                        .conclude());
        Refusal.ofArgument(
                "minValidity 966000 us is not below maxTtl 1000 ms less its clock allowance of 34000 us: no lock could"
                        + " ever be acquired; lower minValidity, clockSampleInterval or drift, or raise maxTtl",
                () -> new RedlockContext().nodes("h:1")
                        .maxTtl(Duration.ofSeconds(1))
                        .minValidity(Duration.ofMillis(966))
                        .conclude());
        Refusal.ofArgument(
                "minValidity 10000 us is not below maxTtl 100 ms less its clock allowance of 90000 us: no lock could"
                        + " ever be acquired; lower minValidity, clockSampleInterval or drift, or raise maxTtl",
                () -> new RedlockContext().nodes("h:1")
                        .maxTtl(Duration.ofMillis(100))
                        .clockSampleInterval(Duration.ZERO)
                        .drift(500_000, Duration.ofMillis(40))
                        .conclude());
        Refusal.ofArgument("keyPrefix is 7 bytes long and resourceLengthMax, which counts it, is 7: no resource could"
                + " have a name; shorten keyPrefix or raise resourceLengthMax",
                () -> new RedlockContext().nodes("h:1").keyPrefix("locks\u00fc").resourceLengthMax(7).conclude());
        Refusal.ofArgument("fenceCounterTtl 599999 ms is less than ten times maxTtl 60000 ms: counters must outlive the"
                + " leases that they number",
                () -> new RedlockContext().nodes("h:1")
                        .fenceCounterTtl(Duration.ofMillis(599_999))
                        .conclude());
    }

    @Test
    void concludeAcceptsTheLimitsOfContradictions() {
        new RedlockContext().nodes("h:1")
                .maxTtl(Duration.ofSeconds(1))
                .nodeTimeout(Duration.ofSeconds(1))
                .minValidity(Duration.ofMillis(966).minusNanos(1))
                .fenceCounterTtl(Duration.ofSeconds(10))
                .keyPrefix("locks\u00fc")
                .resourceLengthMax(8)
                .conclude();
        new RedlockContext().nodes("h:1")
                .maxTtl(Duration.ofMillis(100))
                .clockSampleInterval(Duration.ZERO)
                .drift(500_000, Duration.ofNanos(39_999_999))
                .conclude();
    }

    static Stream<Consumer<RedlockContext>> changes() {
        Duration second = Duration.ofSeconds(1);
        return Stream.of(c -> c.nodes("h:2"), c -> c.keyPrefix("p"), c -> c.clientName("n"),
                c -> c.nameInValues(true), c -> c.maxTtl(second),
                c -> c.fenceCounterTtl(second), c -> c.defaultWait(second), c -> c.nodeTimeout(second),
                c -> c.minValidity(second), c -> c.drift(0, second), c -> c.closeTimeout(second),
                c -> c.blockingSpin(Duration.ZERO),
                c -> c.connectTimeout(Duration.ofMillis(1)), c -> c.unansweredTimeout(Duration.ofMillis(100)),
                c -> c.reconnectDelay(Duration.ofMillis(1), Duration.ofMillis(1)),
                c -> c.clockSampleInterval(Duration.ZERO), c -> c.restartGuard(RestartGuardMode.OFF),
                c -> c.retryPolicy(RetryPolicy.jittered(Duration.ZERO, Duration.ZERO)), c -> c.resourceLengthMax(1),
                c -> c.inFlightMax(1),
                c -> c.waitersMax(1), c -> c.autoExtendedLeasesMax(1), c -> c.nodeBackPressure(16, 4096),
                c -> c.undeliveredReleasesMax(1), c -> c.eventLoops(1), c -> c.eventLoops(new EventLoop[0]),
                c -> c.idlePolicy(IdlePolicy.BLOCK), c -> c.transport(TransportKind.NIO),
                c -> c.credentials(node -> null),
                RedlockContext::conclude);
    }

    @ParameterizedTest
    @MethodSource("changes")
    void aConcludedContextIsImmutable(Consumer<RedlockContext> change) {
        context.nodes("h:1").conclude();
        Refusal.ofState(CONCLUDED, () -> change.accept(context));
    }

    @Test
    void onlyAClientThatExistsConcludesItsContext() {
        context.nodes("127.0.0.1:1").transport(UNAVAILABLE);
        IllegalArgumentException thrown = assertThrows(IllegalArgumentException.class, () -> Redlock.connect(context));
        assertTrue(thrown.getMessage().endsWith("; use AUTO or another transport"), thrown.getMessage());
        context.transport(TransportKind.NIO);
        try (Redlock redlock = Redlock.connect(context)) {
            assertEquals("NIO as configured", redlock.transportDescription());
            for (int i = 0; i < 2; i++) {
                Refusal.ofState(CONCLUDED, () -> Redlock.connect(context));
                Refusal.ofState(CONCLUDED, () -> context.transport(TransportKind.AUTO));
            }
        }
        Refusal.ofState(CONCLUDED, () -> Redlock.connect(context));
    }

    @Test
    void listsThatAreTooLongTogetherDoNotConclude() {
        for (int i = 0; i < 40; i++) {
            context.nodes("a" + i + ":1").nextNodes("b" + i + ":1");
        }
        for (int i = 0; i < 2; i++) {
            Refusal.ofArgument("80 nodes are too many: at most 63", () -> context.conclude());
        }
    }

    @Test
    void ttlIsValidatedAgainstTheClientsLimits() {
        LeaseTerms terms = context.nodes("h:1").maxTtl(Duration.ofSeconds(10)).conclude().terms();
        terms.checkTtl(10_000, AcquireSpec.UNSET);
        Refusal.ofArgument("ttl 10001 ms is longer than maxTtl 10000 ms: ask for less, or raise RedlockContext.maxTtl",
                () -> terms.checkTtl(10_001, AcquireSpec.UNSET));
        terms.checkTtl(27, AcquireSpec.UNSET);
        Refusal.ofArgument("ttl 26 ms is too short: it must be above its clock allowance of 24260 us plus the minimum"
                + " validity of 2600 us; ask for more, or lower RedlockContext.clockSampleInterval, drift or the"
                + " minimum validity", () -> terms.checkTtl(26, AcquireSpec.UNSET));
        terms.checkTtl(100, 74_999_999);
        Refusal.ofArgument("ttl 100 ms is too short: it must be above its clock allowance of 25000 us plus the minimum"
                + " validity of 75000 us; ask for more, or lower RedlockContext.clockSampleInterval, drift or the"
                + " minimum validity", () -> terms.checkTtl(100, 75_000_000));
        Refusal.ofArgument("ttl 0 ms is too short: it must be above its clock allowance of 24000 us plus the minimum"
                + " validity of 0 us; ask for more, or lower RedlockContext.clockSampleInterval, drift or the"
                + " minimum validity", () -> terms.checkTtl(0, 0));
        Refusal.ofArgument("ttl -5 ms is too short: it must be above its clock allowance of 24000 us plus the minimum"
                + " validity of 0 us; ask for more, or lower RedlockContext.clockSampleInterval, drift or the"
                + " minimum validity", () -> terms.checkTtl(-5, 0));
    }

    @Test
    void aTtlOfOneMillisecondIsAllowedWithoutAllowanceForClocks() {
        LeaseTerms terms = context.nodes("h:1")
                .drift(0, Duration.ZERO)
                .clockSampleInterval(Duration.ZERO)
                .conclude()
                .terms();
        terms.checkTtl(1, AcquireSpec.UNSET);
        terms.checkTtl(1, 999_999);
        Refusal.ofArgument("ttl 1 ms is too short: it must be above its clock allowance of 0 us plus the minimum"
                + " validity of 1000 us; ask for more, or lower RedlockContext.clockSampleInterval, drift or the"
                + " minimum validity", () -> terms.checkTtl(1, 1_000_000));
    }

    @Test
    void theNodeTimeoutFollowsTheTtl() {
        LeaseTerms terms = new RedlockContext().nodes("h:1").conclude().terms();
        assertEquals(50_000_000, terms.nodeTimeoutNs(1_000));
        assertEquals(50_000_000, terms.nodeTimeoutNs(60_000));
        assertEquals(49_950_000, terms.nodeTimeoutNs(999));
        assertEquals(1_000_000, terms.nodeTimeoutNs(3));
        LeaseTerms fixed = new RedlockContext().nodes("h:1").nodeTimeout(Duration.ofMillis(7)).conclude().terms();
        assertEquals(7_000_000, fixed.nodeTimeoutNs(60_000));
    }

    @Test
    void minimumValidityOfTheOptionsOverridesTheClients() {
        LeaseTerms terms = new RedlockContext().nodes("h:1").conclude().terms();
        assertEquals(100_000_000, terms.minValidityNs(1_000, AcquireSpec.UNSET));
        LeaseTerms fixed = new RedlockContext().nodes("h:1").minValidity(Duration.ofMillis(5)).conclude().terms();
        assertEquals(5_000_000, fixed.minValidityNs(1_000, AcquireSpec.UNSET));
        assertEquals(0, fixed.minValidityNs(1_000, 0));
        assertEquals(7, fixed.minValidityNs(1_000, 7));
    }

    @Test
    void toStringShowsNoPassword() {
        context.nodes("redis://ann:secret@h:1");
        assertFalse(context.toString().contains("secret"));
        assertEquals("RedlockContext{nodes=[h:1], maxTtlMs=60000, restartGuard=FRESH_GROUP}", context.toString());
    }

    /** Sets an option to a number. */
    @FunctionalInterface
    interface Option {
        RedlockContext set(RedlockContext context, long value);
    }
}
