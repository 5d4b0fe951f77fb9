package dev.redlock.spring;

import dev.redlock.Redlock;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;

/**
 * Proxies of beans with {@link Locked} methods. They exist also without a client, so that no method runs without its
 * lock.
 *
 * @threading immutable
 */
@AutoConfiguration(after = RedlockAutoConfiguration.class)
@Import(LockedAutoConfiguration.Proxies.class)
@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
class LockedAutoConfiguration {

    /** @threading immutable */
    static final class Proxies implements ImportBeanDefinitionRegistrar {
        @Override
        public void registerBeanDefinitions(AnnotationMetadata metadata, BeanDefinitionRegistry registry) {
            AopConfigUtils.registerAutoProxyCreatorIfNecessary(registry);
        }
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static LockedMethods redlockLockedMethods(ConfigurableListableBeanFactory beans) {
        return new LockedMethods(beans);
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static LockedAdvisor redlockLockedAdvisor(LockedMethods redlockLockedMethods,
            ConfigurableListableBeanFactory beans, Environment environment) {
        return new LockedAdvisor(redlockLockedMethods, new LockedInterceptor(redlockLockedMethods, beans),
                environment.getProperty("redlock.locked.order", Integer.class, LockedAdvisor.ORDER_DEFAULT));
    }

    /** A bean ends, and waits for its jobs, while it has its locks. */
    @Bean
    static SmartInitializingSingleton redlockOutlivesLocked(ConfigurableListableBeanFactory beans,
            LockedMethods redlockLockedMethods) {
        return () -> {
            for (String client : beans.getBeanNamesForType(Redlock.class, false, false)) {
                for (String name : beans.getBeanDefinitionNames()) {
                    if (hasLocked(redlockLockedMethods, beans.getType(name, false))
                            || hasLocked(redlockLockedMethods, targetClass(beans, name))) {
                        beans.registerDependentBean(client, name);
                    }
                }
            }
        };
    }

    private static boolean hasLocked(LockedMethods methods, Class<?> type) {
        return type != null && !methods.isEmpty(type);
    }

    /** @return the class behind the proxy, which may have only the interfaces of the class; null without a proxy */
    private static Class<?> targetClass(ConfigurableListableBeanFactory beans, String name) {
        return (Class<?>) beans.getMergedBeanDefinition(name)
                .getAttribute(AutoProxyUtils.ORIGINAL_TARGET_CLASS_ATTRIBUTE);
    }
}
