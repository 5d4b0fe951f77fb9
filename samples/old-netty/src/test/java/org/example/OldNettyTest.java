package org.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.util.Version;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The class path of this project has Netty 4.1, because its dependency management imports only that of Spring Boot. */
class OldNettyTest {

    private static final String MESSAGE = "redlock needs Netty 4.2.2 or newer, found 4.1.121.Final (netty-common,"
            + " netty-buffer, netty-resolver, netty-transport, netty-handler, netty-transport-native-unix-common,"
            + " netty-transport-classes-epoll, netty-transport-classes-kqueue): set the"
            + " property netty.version to 4.2.18.Final, or import io.netty:netty-bom:4.2.18.Final before"
            + " spring-boot-dependencies and any other BOM that manages Netty";

    @Test
    void connectNamesTheVersionThatItFoundAndTheFix() {
        assertEquals("4.1.121.Final", Version.identify().get("netty-transport").artifactVersion());
        assertEquals(MESSAGE, assertThrows(IllegalStateException.class, () -> Redlock.connect("127.0.0.1:1"))
                .getMessage());
    }

    @Test
    void soDoesAClientOnGivenEventLoops() {
        NioEventLoopGroup group = new NioEventLoopGroup(1);
        try {
            RedlockContext context = new RedlockContext().nodes("127.0.0.1:1").eventLoops(group.next());
            assertEquals(MESSAGE,
                    assertThrows(IllegalStateException.class, () -> Redlock.connect(context)).getMessage());
        } finally {
            group.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }
}
