package dev.redlock.test;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.NodeState;
import dev.redlock.trial.nodes.Data;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.time.Duration;
import java.util.List;

/** The scenarios on Redis servers, with short times. */
class KitContractOnServersTest extends KitContract {

    @Override
    Duration awaited() {
        return Duration.ofSeconds(1);
    }

    @Override
    Trial start() {
        RedisNodes nodes = RequiredNodes.start(Source.PATH, 3);
        return new Trial() {
            @Override
            public RedlockContext context() {
                return new RedlockContext().nodes(nodes.addresses());
            }

            @Override
            public Redlock connect(RedlockContext context) throws InterruptedException {
                Redlock client = Redlock.connect(context);
                await(() -> client.nodes().stream().allMatch(node -> node.state() == NodeState.READY));
                return client;
            }

            @Override
            public void fail(int index) {
                nodes.node(index).kill();
            }

            @Override
            public void pause(int index) {
                nodes.node(index).pause();
            }

            @Override
            public void resume(int index) {
                nodes.node(index).resume();
            }

            @Override
            public void restart(int index) {
                nodes.node(index).kill();
                nodes.node(index).restart(Data.LOST);
            }

            @Override
            public void expire(String name) {
                for (RedisNode node : nodes.nodes()) {
                    node.call("PEXPIRE", name, "1");
                    for (Object permit : (List<?>) node.call("KEYS", name + ":redlock:permit*")) {
                        node.call("PEXPIRE", permit.toString(), "1");
                    }
                }
            }

            @Override
            public void advance(Duration duration) {
                // The conditions that the scenarios await come by themselves.
            }

            @Override
            public void close() {
                nodes.close();
            }
        };
    }
}
