package dev.redlock.spring;

import dev.redlock.Redlock;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;

/**
 * The endpoint {@code redlock} of Actuator, if it is exposed.
 *
 * @threading immutable
 */
@AutoConfiguration(after = RedlockAutoConfiguration.class)
// Names: a class that is missing would take this condition away where annotations are read by reflection.
@ConditionalOnClass(name = {"org.springframework.boot.actuate.endpoint.annotation.Endpoint",
    "org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint"})
@ConditionalOnBean(Redlock.class)
@ConditionalOnAvailableEndpoint(RedlockEndpoint.class)
class RedlockEndpointAutoConfiguration {

    private static final Logger LOG = System.getLogger("dev.redlock");

    @Bean
    @Conditional(OnSeveralClients.class)
    SmartInitializingSingleton redlockEndpointOfOneClient(ConfigurableListableBeanFactory beans) {
        return () -> {
            boolean hasEndpoint = beans.getBeanNamesForType(RedlockEndpoint.class, true, false).length > 0;
            LOG.log(Level.INFO, (hasEndpoint
                    ? "the endpoint redlock shows only the primary one of the clients "
                    : "there is no endpoint redlock, mark the client that it shows as @Primary: none is, of ")
                    + OnSeveralClients.namesOf(beans));
        };
    }

    @Bean
    @ConditionalOnSingleCandidate(Redlock.class)
    @ConditionalOnMissingBean
    RedlockEndpoint redlockEndpoint(Redlock redlock) {
        return new RedlockEndpoint(redlock);
    }
}
