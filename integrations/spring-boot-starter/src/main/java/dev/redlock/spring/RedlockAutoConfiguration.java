package dev.redlock.spring;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;

/**
 * A {@link Redlock} from the properties {@code redlock.*}, unless the application has one.
 *
 * @threading immutable
 */
@AutoConfiguration
@ConditionalOnProperty(name = "redlock.enabled", matchIfMissing = true)
@EnableConfigurationProperties(RedlockProperties.class)
class RedlockAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean({RedlockContext.class, Redlock.class})
    RedlockContext redlockContext(RedlockProperties properties, ObjectProvider<RedlockContextCustomizer> customizers) {
        RedlockContext context = new RedlockContext();
        properties.applyTo(context);
        customizers.orderedStream().forEach(customizer -> customizer.customize(context));
        return context;
    }

    @Bean
    @ConditionalOnMissingBean
    Redlock redlock(RedlockContext context) {
        return Redlock.connect(context);
    }

    @Bean
    @ConditionalOnSingleCandidate(Redlock.class)
    RedlockLifecycle redlockLifecycle(Redlock redlock, ConfigurableApplicationContext application) {
        return new RedlockLifecycle(redlock, application);
    }
}
