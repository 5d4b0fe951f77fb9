package dev.redlock.spring;

import dev.redlock.Redlock;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/**
 * The endpoint {@code redlock} of Actuator, if it is exposed.
 *
 * @threading immutable
 */
@AutoConfiguration(after = RedlockAutoConfiguration.class)
// Names: a class that is missing would take this condition away where annotations are read by reflection.
@ConditionalOnClass(name = {"org.springframework.boot.actuate.endpoint.annotation.Endpoint",
    "org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint"})
@ConditionalOnSingleCandidate(Redlock.class)
@ConditionalOnAvailableEndpoint(RedlockEndpoint.class)
class RedlockEndpointAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean
    RedlockEndpoint redlockEndpoint(Redlock redlock) {
        return new RedlockEndpoint(redlock);
    }
}
