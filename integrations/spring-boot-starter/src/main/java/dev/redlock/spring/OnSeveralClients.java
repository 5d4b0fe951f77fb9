package dev.redlock.spring;

import dev.redlock.Redlock;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.ConfigurationCondition;
import org.springframework.core.type.AnnotatedTypeMetadata;

/**
 * Whether the application has several clients. One of them may be primary.
 *
 * @threading immutable
 */
final class OnSeveralClients implements ConfigurationCondition {

    @Override
    public ConfigurationPhase getConfigurationPhase() {
        return ConfigurationPhase.REGISTER_BEAN;
    }

    @Override
    public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
        ConfigurableListableBeanFactory beans = context.getBeanFactory();
        return beans != null && namesOf(beans).size() > 1;
    }

    /** @return the names of the clients that can be injected */
    static List<String> namesOf(ConfigurableListableBeanFactory beans) {
        return Stream.of(BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, Redlock.class, true, false))
                .filter(name -> !beans.containsBeanDefinition(name)
                        || beans.getMergedBeanDefinition(name).isAutowireCandidate())
                .toList();
    }

    /** @return these clients by their names */
    static Map<String, Redlock> clientsOf(ConfigurableListableBeanFactory beans) {
        Map<String, Redlock> clients = new LinkedHashMap<>();
        namesOf(beans).forEach(name -> clients.put(name, beans.getBean(name, Redlock.class)));
        return clients;
    }
}
