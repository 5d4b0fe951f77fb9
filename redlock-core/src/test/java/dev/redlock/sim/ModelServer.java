package dev.redlock.sim;

import dev.redlock.contract.ScriptContract;
import dev.redlock.resp.RespValue;
import java.util.ArrayList;
import java.util.List;

/** A model server on which the cases of the script contract run, with a clock of its own. */
public final class ModelServer implements ScriptContract.Server, Timeline {
    private long nowNs;
    private final FakeRedis redis = new FakeRedis(this, "model");
    private List<String> subscribed = List.of();
    private final List<String> received = new ArrayList<>();

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
    public void subscribe(List<String> channels) {
        subscribed = channels;
        received.clear();
        redis.publisher((channel, message) -> {
            if (!subscribed.contains(channel)) {
                return 0;
            }
            received.add(channel + " " + message);
            return 1;
        });
    }

    @Override
    public List<String> messages() {
        List<String> all = List.copyOf(received);
        received.clear();
        return all;
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
