package dev.redlock.test;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import java.time.Duration;

/** The scenarios on the nodes of the kit, which wait for nothing. */
class KitContractOnKitTest extends KitContract {

    @Override
    Duration awaited() {
        return Duration.ofSeconds(60);
    }

    @Override
    Trial start() {
        RedlockNodes nodes = RedlockNodes.start(3);
        return new Trial() {
            @Override
            public RedlockContext context() {
                return nodes.context();
            }

            @Override
            public Redlock connect(RedlockContext context) {
                return nodes.connect(context);
            }

            @Override
            public void fail(int index) {
                nodes.fail(index);
            }

            @Override
            public void pause(int index) {
                nodes.pause(index);
            }

            @Override
            public void resume(int index) {
                nodes.resume(index);
            }

            @Override
            public void restart(int index) {
                nodes.restart(index);
            }

            @Override
            public void expire(String name) {
                nodes.expire(name);
            }

            @Override
            public void advance(Duration duration) {
                nodes.advance(duration);
            }

            @Override
            public void close() {
                nodes.close();
            }
        };
    }
}
