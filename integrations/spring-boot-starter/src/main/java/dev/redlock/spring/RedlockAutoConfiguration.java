package dev.redlock.spring;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import java.util.concurrent.Executor;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/**
 * A {@link Redlock} from the properties {@code redlock.*}, unless the application has one. When the application closes,
 * it closes the client after the beans that use it.
 *
 * @threading immutable
 */
@AutoConfiguration
@ConditionalOnProperty(name = "redlock.enabled", matchIfMissing = true)
class RedlockAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean({RedlockContext.class, Redlock.class})
    RedlockContext redlockContext(Environment environment, ObjectProvider<RedlockContextCustomizer> customizers) {
        RedlockContext context = new RedlockContext();
        new RedlockProperties(Binder.get(environment)).applyTo(context);
        customizers.orderedStream().forEach(customizer -> customizer.customize(context));
        return context;
    }

    @Bean
    RedlockOptions redlockOptions(Environment environment) {
        return new RedlockOptions(new RedlockProperties(Binder.get(environment)).shown());
    }

    @Bean
    @ConditionalOnMissingBean
    Redlock redlock(RedlockContext context) {
        return Redlock.connect(context);
    }

    /** The jobs of an executor may hold locks, so it is destroyed before each client, and may wait for its jobs. */
    @Bean
    SmartInitializingSingleton redlockOutlivesExecutors(ConfigurableListableBeanFactory beans) {
        return () -> {
            for (String client : beans.getBeanNamesForType(Redlock.class, false, false)) {
                for (String executor : beans.getBeanNamesForType(Executor.class, false, false)) {
                    beans.registerDependentBean(client, executor);
                }
            }
        };
    }
}
