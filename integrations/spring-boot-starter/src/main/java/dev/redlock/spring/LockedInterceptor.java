package dev.redlock.spring;

import dev.redlock.Redlock;
import dev.redlock.ResourceKey;
import java.util.Collection;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.core.KotlinDetector;

/**
 * Runs {@link Locked} methods under their locks. It gets the client with the first call, because proxies are made
 * before other beans.
 *
 * @threading any thread
 */
final class LockedInterceptor implements MethodInterceptor {

    private final LockedMethods methods;
    private final ListableBeanFactory beans;
    private volatile Redlock redlock;

    LockedInterceptor(LockedMethods methods, ListableBeanFactory beans) {
        this.methods = methods;
        this.beans = beans;
    }

    @Override
    public Object invoke(MethodInvocation invocation) throws Throwable {
        Object target = invocation.getThis();
        Class<?> targetClass = target == null
                ? invocation.getMethod().getDeclaringClass()
                : AopUtils.getTargetClass(target);
        LockedMethod locked = methods.find(invocation.getMethod(), targetClass);
        if (locked == null && target != null) {
            // A target that is itself a proxy, such as a repository, has annotations that its own target lacks.
            targetClass = target.getClass();
            locked = methods.find(invocation.getMethod(), targetClass);
        }
        if (locked == null) {
            throw new IllegalStateException(InvalidLockedException.nameOf(invocation.getMethod(), targetClass)
                    + " is not called, because it would run without its lock: its proxy expects @Locked on this method,"
                    + " so annotate it, or the method of its interface");
        }
        if (locked.leaseIndex() >= 0 && invocation.getArguments()[locked.leaseIndex()] != null) {
            throw new IllegalArgumentException(locked.where()
                    + " was called with a lease, but gets that of its own lock: pass null");
        }
        Redlock client = client(locked);
        LockedCall call = new LockedCall(locked, client, key(locked, client, targetClass, invocation), invocation);
        return switch (locked.result()) {
            case VALUE -> LockedValue.run(call);
            case STAGE -> LockedStage.run(call);
            case MONO, FLUX -> LockedPublisher.of(call, KotlinDetector.isSuspendingFunction(locked.method())
                    ? null
                    : LockedResults.adapter(LockedResults.typeOf(locked.method(), targetClass)));
        };
    }

    private ResourceKey key(LockedMethod locked, Redlock client, Class<?> targetClass, MethodInvocation invocation) {
        if (locked.key().isEmpty()) {
            return client.key(locked.name());
        }
        Collection<String> values = methods.keys()
                .valuesOf(locked.key(), locked.method(), invocation.getThis(), targetClass,
                        invocation.getArguments());
        return client.keyOfAll(values.stream().map(value -> locked.name() + "/" + value).toList());
    }

    private Redlock client(LockedMethod locked) {
        Redlock client = redlock;
        if (client == null) {
            try {
                client = beans.getBean(Redlock.class);
            } catch (NoSuchBeanDefinitionException e) {
                throw new IllegalStateException("@Locked on " + locked.where() + " needs one bean of the type Redlock, "
                        + e.getMessage() + ": remove redlock.enabled=false, or mark one of several as @Primary", e);
            }
            redlock = client;
        }
        return client;
    }
}
