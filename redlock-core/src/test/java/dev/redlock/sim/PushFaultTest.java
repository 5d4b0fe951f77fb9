package dev.redlock.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.redlock.testing.RawConnection;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A node whose pushes are disturbed. */
class PushFaultTest {

    private static final String PUSHED = "push invalidate [k]";

    private final SocketNodes nodes = new SocketNodes(1);
    private final RawConnection connection = new RawConnection(
            Integer.parseInt(nodes.addresses()[0].split(":")[1]));

    @BeforeEach
    void register() {
        connection.run(words("HELLO 3"), words("CLIENT TRACKING ON OPTIN NOLOOP"), words("CLIENT CACHING YES"),
                words("GET k"));
    }

    @AfterEach
    void close() {
        connection.close();
        nodes.close();
    }

    private static List<String> words(String line) {
        return List.of(line.split(" "));
    }

    private void onNode(Consumer<FakeNode> change) {
        nodes.onLoop(0, () -> {
            change.accept(nodes.node(0));
            return null;
        });
    }

    private void change() {
        onNode(node -> node.redis().set("k", "changed", -1));
    }

    @Test
    void aPushIsDeliveredWithoutAFault() {
        change();
        assertEquals(List.of(PUSHED), connection.run());
    }

    @Test
    void aPushIsLost() {
        onNode(node -> node.pushFault((client, delivery) -> {
        }));
        change();
        assertEquals(List.of(), connection.run());
    }

    @Test
    void aPushIsRepeated() {
        onNode(node -> node.pushFault((client, delivery) -> {
            delivery.run();
            delivery.run();
        }));
        change();
        assertEquals(List.of(PUSHED, PUSHED), connection.run());
    }

    @Test
    void repliesOvertakeALatePush() {
        List<Runnable> late = new ArrayList<>();
        onNode(node -> node.pushFault((client, delivery) -> late.add(delivery)));
        change();
        assertEquals(List.of("changed"), connection.run(words("GET k")));
        onNode(node -> late.forEach(Runnable::run));
        assertEquals(List.of(PUSHED), connection.run());
    }

    @Test
    void messagesHaveTheFaultsOfOtherPushes() {
        connection.run(words("SUBSCRIBE c"));
        List<Runnable> late = new ArrayList<>();
        onNode(node -> node.pushFault((client, delivery) -> late.add(delivery)));
        onNode(node -> node.redis().publish("c", "lost"));
        onNode(node -> node.redis().publish("c", "late"));
        assertEquals(List.of("null"), connection.run(words("GET k")));
        onNode(node -> {
            late.get(1).run();
            late.get(1).run();
        });
        assertEquals(List.of("push message c late", "push message c late"), connection.run());
    }

    @Test
    void aNewProcessHasNoSubscribers() {
        connection.run(words("SUBSCRIBE c"));
        onNode(node -> {
            assertEquals(List.of("c"), node.redis().channels());
            node.redis().newProcess();
            assertEquals(0, node.redis().publish("c", "x"));
            assertEquals(List.of(), node.redis().channels());
        });
        assertEquals(List.of(), connection.run());
    }

    @Test
    void aFaultEnds() {
        onNode(node -> node.pushFault((client, delivery) -> {
        }));
        onNode(node -> node.pushFault(null));
        change();
        assertEquals(List.of(PUSHED), connection.run());
    }

    @Test
    void strayPushesReachResp3ConnectionsOnly() {
        try (RawConnection resp2 = new RawConnection(Integer.parseInt(nodes.addresses()[0].split(":")[1]))) {
            resp2.run();
            onNode(node -> {
                node.pushInvalidation(client -> true, "stray");
                node.pushInvalidation(client -> true, null);
                node.pushInvalidation(client -> false, "hidden");
            });
            assertEquals(List.of("push invalidate [stray]", "push invalidate null"), connection.run());
            assertEquals(List.of(), resp2.run());
        }
    }

    @Test
    void aPausedNodePushesWhenItResumes() {
        onNode(FakeNode::pause);
        change();
        connection.send(List.of(words("GET k")));
        onNode(node -> node.pushInvalidation(client -> true, "mark"));
        assertEquals(FakeRedis.invalidation("mark"), connection.next(), "nothing else before it resumes");
        onNode(FakeNode::resume);
        assertEquals(FakeRedis.invalidation("k"), connection.next());
    }
}
