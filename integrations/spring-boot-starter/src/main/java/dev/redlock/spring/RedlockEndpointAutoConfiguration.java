package dev.redlock.spring;

import dev.redlock.Redlock;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
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
@ConditionalOnClass({Endpoint.class, ConditionalOnAvailableEndpoint.class})
@ConditionalOnSingleCandidate(Redlock.class)
@ConditionalOnAvailableEndpoint(RedlockEndpoint.class)
class RedlockEndpointAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean
    RedlockEndpoint redlockEndpoint(Redlock redlock) {
        return new RedlockEndpoint(redlock);
    }
}
