package dev.redlock.spring;

import dev.redlock.Redlock;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnExpression;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/**
 * The health of the client in Spring Boot 3.
 *
 * @threading immutable
 */
@AutoConfiguration(after = RedlockAutoConfiguration.class)
@ConditionalOnClass(name = "org.springframework.boot.actuate.health.HealthIndicator")
@ConditionalOnExpression(RedlockHealth.ENABLED)
@ConditionalOnSingleCandidate(Redlock.class)
class Boot3HealthAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean(name = "redlockHealthIndicator")
    HealthIndicator redlockHealthIndicator(Redlock redlock) {
        return () -> (redlock.isQuorumAvailable() ? Health.up() : Health.down())
                .withDetails(RedlockHealth.detailsOf(redlock))
                .build();
    }
}
