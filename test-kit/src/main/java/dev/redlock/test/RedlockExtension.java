package dev.redlock.test;

import dev.redlock.Redlock;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Gives tests of JUnit 5 their {@link RedlockNodes} and a {@link Redlock} client as parameters, and closes both.
 *
 * <pre>
 * &#64;ExtendWith(RedlockExtension.class)
 * class OrdersTest {
 *     &#64;Test
 *     void ordersAreShippedOnce(Redlock redlock, RedlockNodes nodes) {
 * </pre>
 *
 * <p>Each test has nodes of its own. Those of a constructor or of a method before all tests are for the class. The
 * client of a test is closed after it, also if the nodes are for the class. For another number of nodes, make a field
 * {@code new RedlockExtension(5)} with the annotation {@code RegisterExtension}.
 *
 * @threading any thread
 */
public final class RedlockExtension implements ParameterResolver, AfterEachCallback, AfterAllCallback {

    private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace
            .create(RedlockExtension.class);

    private final int count;

    /** Three nodes. */
    public RedlockExtension() {
        this(3);
    }

    /**
     * Some nodes.
     *
     * @param count as in {@link RedlockNodes#start}
     */
    public RedlockExtension(int count) {
        this.count = count;
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        Class<?> type = parameter.getParameter().getType();
        return type == RedlockNodes.class || type == Redlock.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        RedlockNodes nodes = nodes(context);
        return parameter.getParameter().getType() == RedlockNodes.class ? nodes : client(context, nodes);
    }

    /** Of this context or of one around it. */
    private synchronized RedlockNodes nodes(ExtensionContext context) {
        ExtensionContext.Store store = context.getStore(NAMESPACE);
        RedlockNodes found = store.get(RedlockNodes.class, RedlockNodes.class);
        if (found == null) {
            found = RedlockNodes.start(count);
            store.put(RedlockNodes.class, found);
        }
        return found;
    }

    private synchronized Redlock client(ExtensionContext context, RedlockNodes nodes) {
        ExtensionContext.Store store = context.getStore(NAMESPACE);
        Redlock found = store.get(Redlock.class, Redlock.class);
        if (found == null) {
            found = nodes.connect();
            store.put(Redlock.class, found);
        }
        return found;
    }

    @Override
    public void afterEach(ExtensionContext context) {
        closeNodesOf(context);
    }

    @Override
    public void afterAll(ExtensionContext context) {
        closeNodesOf(context);
    }

    private static void closeNodesOf(ExtensionContext context) {
        ExtensionContext.Store store = context.getStore(NAMESPACE);
        Redlock client = store.remove(Redlock.class, Redlock.class);
        if (client != null) {
            // The nodes may be those of the class, which go on.
            client.close();
        }
        RedlockNodes own = store.remove(RedlockNodes.class, RedlockNodes.class);
        if (own != null) {
            own.close();
        }
    }
}
