package dev.redlock.test;

import dev.redlock.spring.RedlockContextCustomizer;
import java.util.Map;
import org.springframework.beans.factory.support.DefaultSingletonBeanRegistry;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.MutablePropertySources;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.MergedContextConfiguration;
import org.springframework.util.ClassUtils;

/**
 * Adds nodes to an application context. Contexts with the same number of nodes are equal, so tests share them.
 *
 * @threading immutable
 */
record SpringNodes(int count) implements ContextCustomizer {

    private static final String NAME = "redlockNodes";
    private static final String STARTER = "dev.redlock.spring.RedlockContextCustomizer";

    @Override
    public void customizeContext(ConfigurableApplicationContext context, MergedContextConfiguration configuration) {
        RedlockNodes nodes = RedlockNodes.start(count);
        DefaultSingletonBeanRegistry beans = (DefaultSingletonBeanRegistry) context.getBeanFactory();
        // Spring destroys the beans of the application before those that were there first.
        beans.registerDisposableBean(NAME, nodes::close);
        beans.registerSingleton(NAME, nodes);
        if (ClassUtils.isPresent(STARTER, context.getClassLoader())) {
            Starter.add(nodes, beans);
        }
        MutablePropertySources sources = context.getEnvironment().getPropertySources();
        sources.addFirst(new MapPropertySource(NAME, Map.of("redlock.nodes", String.join(",", nodes.addresses()))));
        sources.addLast(new MapPropertySource(NAME + "Defaults",
                Map.of("redlock.node-timeout", RedlockNodes.NODE_TIMEOUT.toMillis() + "ms")));
    }

    /**
     * Loaded only if the starter is there.
     *
     * @threading caller-confined
     */
    private static final class Starter {
        static void add(RedlockNodes nodes, DefaultSingletonBeanRegistry beans) {
            // A container replaces the property, and is perhaps there for other tests.
            RedlockContextCustomizer customizer = context -> nodes.configure(context.hasNodes()
                    ? context
                    : context.nodes(nodes.addresses()));
            beans.registerSingleton("redlockNodesCustomizer", customizer);
        }
    }
}
