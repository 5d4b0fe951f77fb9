package dev.redlock.sim;

import dev.redlock.contract.ScriptContract;
import dev.redlock.resp.RespValue;

/** A model server on which the cases of the script contract run, with a clock of its own. */
public final class ModelServer implements ScriptContract.Server, Timeline {
    private long nowNs;
    private final FakeRedis redis = new FakeRedis(this, "model");

    /** Runs the cases of a script on a new server. */
    public static void check(String script) {
        ScriptContract.run(script, new ModelServer());
    }

    @Override
    public RespValue call(String... words) {
        return redis.call(words);
    }

    @Override
    public void pass(long ms) {
        nowNs += ms * 1_000_000;
    }

    @Override
    public void clock(long second) {
        redis.clockJump(second * 1_000 - redis.wallUs() / 1_000);
    }

    @Override
    public long nowNs() {
        return nowNs;
    }

    @Override
    public void after(long delayNs, Runnable task) {
        throw new UnsupportedOperationException("nothing is tracked");
    }
}
