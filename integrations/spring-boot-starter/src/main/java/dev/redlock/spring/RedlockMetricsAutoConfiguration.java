package dev.redlock.spring;

import dev.redlock.Redlock;
import dev.redlock.RedlockMetrics;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/**
 * The meters of the client. Spring Boot binds them to the registries of the application.
 *
 * @threading immutable
 */
@AutoConfiguration(after = RedlockAutoConfiguration.class, afterName = {
    "org.springframework.boot.actuate.autoconfigure.metrics.CompositeMeterRegistryAutoConfiguration",
    "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration"})
@ConditionalOnClass(name = "io.micrometer.core.instrument.MeterRegistry")
@ConditionalOnBean(type = "io.micrometer.core.instrument.MeterRegistry")
@ConditionalOnSingleCandidate(Redlock.class)
class RedlockMetricsAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean
    RedlockMetrics redlockMetrics(Redlock redlock) {
        return new RedlockMetrics(redlock);
    }
}
