package dev.redlock.spring;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/**
 * A {@link Redlock} from the properties {@code redlock.*}, unless the application has one.
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
    @ConditionalOnMissingBean
    Redlock redlock(RedlockContext context) {
        return Redlock.connect(context);
    }

    @Bean
    @ConditionalOnSingleCandidate(Redlock.class)
    Shutdown redlockShutdown(Redlock redlock, ConfigurableApplicationContext application) {
        return new Shutdown(redlock, application);
    }

    /**
     * Releases the locks when the application closes. The lowest phase stops last: after web servers, listeners and
     * schedulers (with {@code await-termination} these stop later), and before any bean is destroyed. A context that
     * only stops or pauses may start again, so its client stays open.
     *
     * @threading any thread
     */
    record Shutdown(Redlock redlock, ConfigurableApplicationContext application) implements SmartLifecycle {

        @Override
        public void start() {
            // the client runs since it was created
        }

        @Override
        public void stop() {
            if (application.isClosed()) {
                redlock.close();
            }
        }

        @Override
        public boolean isRunning() {
            return true;
        }

        @Override
        public int getPhase() {
            return Integer.MIN_VALUE;
        }
    }
}
