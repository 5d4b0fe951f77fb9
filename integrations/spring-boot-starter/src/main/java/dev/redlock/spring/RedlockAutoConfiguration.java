package dev.redlock.spring;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executor;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;
import org.springframework.util.StringUtils;

/**
 * A {@link Redlock} from the properties {@code redlock.*}, unless the application has one. When the application closes,
 * it closes the client after the beans that use it.
 *
 * @threading immutable
 */
@AutoConfiguration
@ConditionalOnProperty(name = "redlock.enabled", matchIfMissing = true)
class RedlockAutoConfiguration {

    private static final Logger LOG = System.getLogger("dev.redlock");
    private static final int CLIENT_NAME_LENGTH_MAX = 64;

    /** Names, because redlock-core-shaded renames Netty. */
    private static final Set<String> EVENT_LOOPS = Set.of("io.netty.channel.EventLoopGroup",
            "dev.redlock.shaded.io.netty.channel.EventLoopGroup");

    @Bean
    @ConditionalOnMissingBean({RedlockContext.class, Redlock.class})
    RedlockContext redlockContext(Environment environment, ObjectProvider<RedlockContextCustomizer> customizers,
            ListableBeanFactory beans) {
        RedlockContext context = new RedlockContext();
        String application = environment.getProperty("spring.application.name");
        if (StringUtils.hasText(application)) {
            context.clientName(clientName(application));
        }
        Binder binder = Binder.get(environment);
        NodeDetails details = new NodeDetails(beans);
        List<RedlockConnectionDetails> ofNodes = details.ofNodes();
        new RedlockProperties(environment).applyTo(context, ofNodes.isEmpty());
        VirtualThreads.addTo(context, environment);
        boolean hasNodes = context.hasNodes();
        customizers.orderedStream().forEach(customizer -> customizer.customize(context));
        if (hasNodes) {
            LOG.log(Level.INFO, "redlock.nodes names the nodes");
        } else if (context.hasNodes()) {
            LOG.log(Level.INFO, "a RedlockContextCustomizer names the nodes");
        } else {
            takeNodes(ofNodes, details, new DataRedisProperties(binder), context);
        }
        return context;
    }

    /** The name of an application may have characters that the name of a connection cannot have. */
    private static String clientName(String application) {
        String name = application.strip().replaceAll("[^!-~]", "-");
        return name.substring(0, Math.min(name.length(), CLIENT_NAME_LENGTH_MAX));
    }

    private static void takeNodes(List<RedlockConnectionDetails> ofNodes, NodeDetails details,
            DataRedisProperties properties, RedlockContext context) {
        ApplicationRedis redis = ofNodes.isEmpty() ? details.ofApplication() : null;
        if (!ofNodes.isEmpty()) {
            LOG.log(Level.INFO, "connection details name the nodes, in place of redlock.nodes: "
                    + NodeDetails.apply(ofNodes, context));
        } else if (redis != null) {
            redis.applyTo(context);
            LOG.log(Level.INFO, "the connection details of Spring Data Redis name the node, because redlock.nodes is"
                    + " not set: " + redis
                    + (redis.hasCertificates()
                            ? "; the client does not use their certificates: set RedlockContext.tls in a"
                                    + " RedlockContextCustomizer"
                            : ""));
        } else {
            takeNodes(properties, context);
        }
    }

    private static void takeNodes(DataRedisProperties properties, RedlockContext context) {
        String property = properties.applyTo(context);
        if (property != null) {
            LOG.log(Level.INFO, property + " names the node, because redlock.nodes is not set"
                    + (properties.hasBundle()
                            ? "; the client does not use the certificates of spring.data.redis.ssl.bundle: set"
                                    + " RedlockContext.tls in a RedlockContextCustomizer"
                            : ""));
        }
    }

    @Bean
    RedlockOptions redlockOptions(Environment environment) {
        return new RedlockOptions(new RedlockProperties(environment).shown());
    }

    @Bean
    @ConditionalOnMissingBean
    Redlock redlock(RedlockContext context) {
        return Redlock.connect(context);
    }

    /**
     * The jobs of an executor may hold locks, so it is destroyed before each client, and may wait for its jobs. Event
     * loops are executors too, but the client may run on them and then needs them for its close.
     */
    @Bean
    SmartInitializingSingleton redlockOutlivesExecutors(ConfigurableListableBeanFactory beans) {
        return () -> {
            for (String client : beans.getBeanNamesForType(Redlock.class, false, false)) {
                for (String executor : beans.getBeanNamesForType(Executor.class, false, false)) {
                    if (!LockedResults.isAny(EVENT_LOOPS, beans.getType(executor, false))) {
                        beans.registerDependentBean(client, executor);
                    }
                }
            }
        };
    }
}
