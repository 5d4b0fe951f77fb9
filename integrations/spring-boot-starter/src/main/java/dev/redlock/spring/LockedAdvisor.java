package dev.redlock.spring;

import java.io.Serial;
import java.lang.reflect.Method;
import org.springframework.aop.support.StaticMethodMatcherPointcutAdvisor;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotationUtils;

/**
 * Puts {@link LockedInterceptor} before {@link Locked} methods, outside of transactions.
 *
 * @threading any thread
 */
final class LockedAdvisor extends StaticMethodMatcherPointcutAdvisor {

    /** Transactions and caches have the lowest precedence. */
    static final int ORDER_DEFAULT = Ordered.LOWEST_PRECEDENCE - 10;

    @Serial
    private static final long serialVersionUID = 1;

    private final transient LockedMethods methods;

    LockedAdvisor(LockedMethods methods, LockedInterceptor interceptor, int order) {
        super(interceptor);
        this.methods = methods;
        setClassFilter(type -> AnnotationUtils.isCandidateClass(type, Locked.class));
        setOrder(order);
    }

    @Override
    public boolean matches(Method method, Class<?> targetClass) {
        return methods.find(method, targetClass) != null;
    }
}
