package dev.redlock.spring;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * A {@link Locked} annotation is invalid, so the application cannot start.
 *
 * @threading any thread
 */
final class InvalidLockedException extends IllegalStateException {

    private static final long serialVersionUID = 1;

    private final String action;

    InvalidLockedException(String where, String problem, String action, Throwable cause) {
        super("@Locked on " + where + ": " + problem + ": " + action, cause);
        this.action = action;
    }

    /** @return the fix, without a capital letter and a full stop */
    String action() {
        return action;
    }

    /** The name of the class of a proxy has no meaning for a reader, so that of the interface stands for it. */
    static String nameOf(Method method, Class<?> targetClass) {
        Class<?> type = Proxy.isProxyClass(targetClass) ? method.getDeclaringClass() : targetClass;
        return type.getName() + "." + method.getName() + Arrays.stream(method.getParameterTypes())
                .map(Class::getSimpleName)
                .collect(Collectors.joining(", ", "(", ")"));
    }
}
