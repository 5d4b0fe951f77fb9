package dev.redlock.spring;

import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.api.NodeState;
import dev.redlock.micrometer.RedlockMetrics;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.actuate.health.CompositeHealthContributor;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;

/**
 * The health and the meters of the client, or of each of several clients under the name of its bean. Spring Boot binds
 * the meters to the registries of the application. In each configuration, the bean for several clients comes first, so
 * that a primary client does not replace it.
 *
 * @threading immutable
 */
@AutoConfiguration(after = RedlockAutoConfiguration.class)
@ConditionalOnBean(Redlock.class)
class RedlockActuatorAutoConfiguration {

    /** No status of its own for a missing node: Spring Boot leaves such a status out of that of the application. */
    private static String statusOf(Redlock redlock) {
        return redlock.isQuorumAvailable() ? "UP" : "DOWN";
    }

    /** @return the failures that are tolerated, the transport, and the state of each node with its problem */
    private static Map<String, Object> detailsOf(Redlock redlock) {
        Map<String, Object> nodes = statesOf(redlock.nodes());
        Map<String, Object> details = new LinkedHashMap<>();
        details.put("degraded", redlock.isDegraded());
        details.put("toleratedFailures", redlock.toleratedFailureCount());
        details.put("nodes", nodes);
        details.put("transport", redlock.transportDescription());
        return details;
    }

    /** Each event loop has a connection to each node: that with a problem is shown, else one that does not vote. */
    static Map<String, Object> statesOf(List<NodeStatus> views) {
        Map<String, Object> nodes = new LinkedHashMap<>();
        for (NodeStatus node : views) {
            String problem = node.problem();
            NodeState state = node.state();
            Object shown = nodes.get(node.address());
            if (problem != null && !(shown instanceof String)) {
                nodes.put(node.address(), state + ": " + problem);
            } else if (shown == null || shown == NodeState.READY) {
                nodes.put(node.address(), state);
            }
        }
        return nodes;
    }

    /** @threading immutable */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(HealthIndicator.class)
    @ConditionalOnEnabledHealthIndicator("redlock")
    static class Boot3Health {
        @Bean
        @Conditional(OnSeveralClients.class)
        @ConditionalOnMissingBean(name = {"redlockHealthContributor", "redlockHealthIndicator"})
        CompositeHealthContributor redlockHealthContributor(ConfigurableListableBeanFactory beans) {
            return CompositeHealthContributor.fromMap(OnSeveralClients.clientsOf(beans), Boot3Health::healthOf);
        }

        @Bean
        @ConditionalOnSingleCandidate(Redlock.class)
        @ConditionalOnMissingBean(name = {"redlockHealthContributor", "redlockHealthIndicator"})
        HealthIndicator redlockHealthIndicator(Redlock redlock) {
            return healthOf(redlock);
        }

        private static HealthIndicator healthOf(Redlock redlock) {
            return () -> Health.status(statusOf(redlock)).withDetails(detailsOf(redlock)).build();
        }
    }

    /** @threading immutable */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(org.springframework.boot.health.contributor.HealthIndicator.class)
    @org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator("redlock")
    static class Boot4Health {
        @Bean
        @Conditional(OnSeveralClients.class)
        @ConditionalOnMissingBean(name = {"redlockHealthContributor", "redlockHealthIndicator"})
        org.springframework.boot.health.contributor.CompositeHealthContributor redlockHealthContributor(
                ConfigurableListableBeanFactory beans) {
            return org.springframework.boot.health.contributor.CompositeHealthContributor
                    .fromMap(OnSeveralClients.clientsOf(beans), Boot4Health::healthOf);
        }

        @Bean
        @ConditionalOnSingleCandidate(Redlock.class)
        @ConditionalOnMissingBean(name = {"redlockHealthContributor", "redlockHealthIndicator"})
        org.springframework.boot.health.contributor.HealthIndicator redlockHealthIndicator(Redlock redlock) {
            return healthOf(redlock);
        }

        private static org.springframework.boot.health.contributor.HealthIndicator healthOf(Redlock redlock) {
            return () -> org.springframework.boot.health.contributor.Health.status(statusOf(redlock))
                    .withDetails(detailsOf(redlock))
                    .build();
        }
    }

    /** @threading immutable */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "io.micrometer.core.instrument.binder.MeterBinder")
    static class Metrics {
        @Bean
        @Conditional(OnSeveralClients.class)
        @ConditionalOnMissingBean(RedlockMetrics.class)
        MeterBinder redlockMetricsOfClients(ConfigurableListableBeanFactory beans) {
            List<RedlockMetrics> all = new ArrayList<>();
            OnSeveralClients.clientsOf(beans)
                    .forEach((name, client) -> all.add(new RedlockMetrics(client, Tags.of("client", name))));
            return registry -> all.forEach(metrics -> metrics.bindTo(registry));
        }

        @Bean
        @ConditionalOnSingleCandidate(Redlock.class)
        @ConditionalOnMissingBean(value = RedlockMetrics.class, name = "redlockMetricsOfClients")
        RedlockMetrics redlockMetrics(Redlock redlock) {
            return new RedlockMetrics(redlock);
        }
    }
}
