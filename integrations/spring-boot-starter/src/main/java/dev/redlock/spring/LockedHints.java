package dev.redlock.spring;

import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import org.springframework.aot.hint.ExecutableMode;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.aot.hint.annotation.SimpleReflectiveProcessor;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Lets a native image call the fallback methods of {@link Locked} by reflection.
 *
 * @threading any thread
 */
public final class LockedHints extends SimpleReflectiveProcessor {

    @Override
    public void registerReflectionHints(ReflectionHints hints, AnnotatedElement element) {
        super.registerReflectionHints(hints, element);
        Locked locked = AnnotatedElementUtils.findMergedAnnotation(element, Locked.class);
        if (locked != null && !locked.fallback().isEmpty()) {
            Class<?> owner = element instanceof Method method ? method.getDeclaringClass() : (Class<?>) element;
            for (Method method : ReflectionUtils.getAllDeclaredMethods(owner)) {
                if (method.getName().equals(locked.fallback())) {
                    hints.registerMethod(method, ExecutableMode.INVOKE);
                }
            }
        }
    }
}
