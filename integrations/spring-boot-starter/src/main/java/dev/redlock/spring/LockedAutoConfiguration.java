package dev.redlock.spring;

import dev.redlock.Redlock;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.FactoryBean;
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

    private static final Logger LOG = System.getLogger("dev.redlock");

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

    /**
     * A bean ends, and waits for its jobs, while it has its locks. Each of its methods has to keep within the limits of
     * the client, which are known once the client exists. A bean that was created before the proxies is logged.
     */
    @Bean
    static SmartInitializingSingleton redlockOutlivesLocked(ConfigurableListableBeanFactory beans,
            LockedMethods redlockLockedMethods) {
        return () -> {
            String[] clients = beans.getBeanNamesForType(Redlock.class, false, false);
            if (clients.length == 0) {
                return;
            }
            Redlock used = usedOf(clients, beans);
            for (String name : beans.getBeanDefinitionNames()) {
                List<LockedMethod> locked = Stream.of(beans.getType(name, false), targetClass(beans, name))
                        .filter(Objects::nonNull)
                        .flatMap(type -> redlockLockedMethods.all(type).stream())
                        .toList();
                if (!locked.isEmpty()) {
                    warnWithoutProxy(name, beans.getSingleton(name));
                    Stream.of(clients).forEach(client -> beans.registerDependentBean(client, name));
                }
                if (used != null) {
                    locked.forEach(method -> method.check(used));
                }
            }
        };
    }

    /** A failure would also stop a test whose bean is a mock. The object of a factory has a proxy of its own. */
    private static void warnWithoutProxy(String name, Object bean) {
        if (bean != null && !(bean instanceof FactoryBean) && !AopUtils.isAopProxy(bean)) {
            LOG.log(Level.WARNING, "the bean \"{0}\" has no proxy, so its methods with @Locked run without their locks;"
                    + " it was created too early, if a BeanPostProcessor needs it: let that use an ObjectProvider of"
                    + " the bean", name);
        }
    }

    /** @return the class behind the proxy, which may have only the interfaces of the class; null without a proxy */
    private static Class<?> targetClass(ConfigurableListableBeanFactory beans, String name) {
        return (Class<?>) beans.getMergedBeanDefinition(name)
                .getAttribute(AutoProxyUtils.ORIGINAL_TARGET_CLASS_ATTRIBUTE);
    }

    /** @return the client of the methods; null if there is none yet, or not one alone */
    private static Redlock usedOf(String[] clients, ConfigurableListableBeanFactory beans) {
        List<String> used = clients.length == 1
                ? List.of(clients)
                : Stream.of(clients)
                        .filter(name -> beans.containsBeanDefinition(name)
                                && beans.getMergedBeanDefinition(name).isPrimary())
                        .toList();
        // A client that is created at its first use is not created here.
        return used.size() == 1 && beans.getSingleton(used.get(0)) instanceof Redlock client ? client : null;
    }
}
