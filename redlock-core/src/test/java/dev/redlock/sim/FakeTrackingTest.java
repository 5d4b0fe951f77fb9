package dev.redlock.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.resp.RespValue;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The part of the model's tracking that takes time. {@code TrackingContract} checks the rest. */
class FakeTrackingTest {

    private static final List<RespValue> PUSHED = List.of(FakeRedis.invalidation("k"));

    private final VirtualWorld world = new VirtualWorld(1);
    private final FakeRedis redis = world.node(0).redis();
    private final List<RespValue> pushes = new ArrayList<>();
    private final FakeRedis.Session session = redis.connect("client", pushes::add);

    @BeforeEach
    void register() {
        redis.activeExpiry(() -> 70);
        redis.set("k", "holder", 100);
        run("HELLO 3");
        run("CLIENT TRACKING ON OPTIN NOLOOP");
        readAgain();
    }

    @AfterEach
    void end() {
        world.end();
    }

    private void readAgain() {
        run("CLIENT CACHING YES");
        run("GET k");
    }

    private String run(String line) {
        ByteBuf out = Unpooled.buffer();
        session.execute(RespValue.array(Arrays.stream(line.split(" ")).map(RespValue::bulk).toArray(RespValue[]::new)),
                out);
        return out.toString(StandardCharsets.ISO_8859_1);
    }

    private void assertPushedAtMs(long ms) {
        world.runUntilNs(ms * 1_000_000 - 1);
        assertEquals(List.of(), pushes, () -> "too early");
        world.runUntilNs(ms * 1_000_000);
        assertEquals(PUSHED, pushes);
        world.runMs(10_000);
        assertEquals(PUSHED, pushes, "once");
    }

    @Test
    void anExpiredKeyIsFoundAfterTheDelay() {
        assertPushedAtMs(171);
    }

    @Test
    void aKeyThatIsNeverFoundIsNeverPushed() {
        redis.activeExpiry(() -> -1);
        redis.set("k", "holder", 100);
        pushes.clear();
        readAgain();
        world.runMs(100_000);
        assertEquals(List.of(), pushes);
        redis.delete("k");
        assertEquals(PUSHED, pushes, "an access finds it");
    }

    @Test
    void aLookOfATestIsNoAccess() {
        world.runMs(150);
        assertEquals(null, redis.get("k"));
        assertEquals(List.of(), List.copyOf(redis.keys()));
        assertPushedAtMs(171);
    }

    @Test
    void aRenewedKeyIsFoundAfterItsNewEnd() {
        redis.set("k", "holder", 500);
        assertEquals(PUSHED, pushes, "the renewal");
        pushes.clear();
        readAgain();
        assertPushedAtMs(571);
    }

    @Test
    void aKeyIsFoundByTheClockOfItsNode() {
        redis.clockJump(-200);
        assertPushedAtMs(371);
    }

    @Test
    void aKeyIsFoundSoonAfterAJumpOfTheClock() {
        redis.set("k", "holder", 50_000);
        pushes.clear();
        readAgain();
        redis.clockJump(60_000);
        assertPushedAtMs(70);
    }

    @Test
    void aClosedConnectionGetsNoPush() {
        session.close();
        redis.delete("k");
        redis.flushAll();
        assertEquals(List.of(), pushes);
    }

    @Test
    void aServerWithoutResp3HasNoTracking() {
        redis.onlyResp2();
        assertEquals("-ERR Unknown subcommand or wrong number of arguments for 'TRACKING'. Try CLIENT HELP\r\n",
                run("CLIENT TRACKING ON"));
    }

    @Test
    void oneSubcommandCanBeForbidden() {
        redis.failNext("CLIENT TRACKING", "NOPERM no", 1);
        assertEquals("+OK\r\n", run("CLIENT SETNAME n"));
        assertEquals("-NOPERM no\r\n", run("CLIENT TRACKING ON"));
    }
}
