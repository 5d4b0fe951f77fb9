package dev.redlock.spring;

import dev.redlock.Redlock;
import dev.redlock.shedlock.RedlockLockProvider;
import dev.redlock.spring.integration.RedlockLockRegistry;
import net.javacrumbs.shedlock.core.LockProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.integration.support.locks.LockRegistry;

/**
 * The lock provider of ShedLock and the lock registry of Spring Integration, in applications that have
 * {@code redlock-shedlock} or {@code redlock-spring-integration}.
 *
 * @threading immutable
 */
@AutoConfiguration(after = RedlockAutoConfiguration.class)
@ConditionalOnSingleCandidate(Redlock.class)
class RedlockAdaptersAutoConfiguration {

    /** @threading immutable */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({RedlockLockProvider.class, LockProvider.class})
    static class ShedLock {
        @Bean
        @ConditionalOnMissingBean(LockProvider.class)
        RedlockLockProvider redlockLockProvider(Redlock redlock) {
            return new RedlockLockProvider(redlock);
        }
    }

    /** @threading immutable */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({RedlockLockRegistry.class, LockRegistry.class})
    static class SpringIntegration {
        @Bean
        @ConditionalOnMissingBean(LockRegistry.class)
        RedlockLockRegistry redlockLockRegistry(Redlock redlock) {
            return new RedlockLockRegistry(redlock);
        }
    }
}
