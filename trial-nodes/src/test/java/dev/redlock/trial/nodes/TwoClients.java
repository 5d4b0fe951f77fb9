package dev.redlock.trial.nodes;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.RestartGuardMode;
import java.time.Duration;

/** Three servers and two clients of them, as for two instances of an application. */
public final class TwoClients implements AutoCloseable {

    public final RedisNodes nodes = RequiredNodes.start(Source.PATH, 3);
    public final Redlock one = Redlock.connect(context());
    public final Redlock other = Redlock.connect(context());

    /** The options of a client; a busy machine delays answers. */
    public RedlockContext context() {
        return new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .connectTimeout(Duration.ofSeconds(20))
                .nodeTimeout(Duration.ofSeconds(5));
    }

    @Override
    public void close() {
        one.close();
        other.close();
        nodes.close();
    }
}
