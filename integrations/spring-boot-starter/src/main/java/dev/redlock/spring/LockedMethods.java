package dev.redlock.spring;

import dev.redlock.AcquireOptions;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.core.BridgeMethodResolver;
import org.springframework.core.DecoratingProxy;
import org.springframework.core.KotlinDetector;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * The {@link Locked} methods of classes. A class is read once, and an invalid annotation is an error then.
 *
 * @threading any thread
 */
final class LockedMethods {

    /** By name: an application may lack their jars. Spring 6 also calls methods with the older two. */
    private static final List<String> LIFE_CYCLE = List.of("jakarta.annotation.PostConstruct",
            "jakarta.annotation.PreDestroy", "javax.annotation.PostConstruct", "javax.annotation.PreDestroy");
    private static final String CONTINUATION = "kotlin.coroutines.Continuation";

    private final Map<Class<?>, Map<Method, LockedMethod>> classes = new ConcurrentHashMap<>();
    private final ConfigurableBeanFactory beans;
    private final LockedKey keys;

    LockedMethods(ConfigurableBeanFactory beans) {
        this.beans = beans;
        this.keys = new LockedKey(beans);
    }

    /** @return null if the method is not locked */
    LockedMethod find(Method method, Class<?> targetClass) {
        Map<Method, LockedMethod> found = of(targetClass);
        if (found.isEmpty()) {
            return null;
        }
        LockedMethod locked = found.get(AopUtils.getMostSpecificMethod(method, targetClass));
        return locked == null ? found.get(BridgeMethodResolver.findBridgedMethod(method)) : locked;
    }

    LockedKey keys() {
        return keys;
    }

    /** @return the locked methods of a class */
    Collection<LockedMethod> all(Class<?> targetClass) {
        return of(targetClass).values();
    }

    private Map<Method, LockedMethod> of(Class<?> targetClass) {
        Class<?> type = ClassUtils.getUserClass(targetClass);
        Map<Method, LockedMethod> found = classes.get(type);
        if (found == null) {
            found = AnnotationUtils.isCandidateClass(type, Locked.class) ? read(type) : Map.of();
            classes.put(type, found);
        }
        return found;
    }

    private Map<Method, LockedMethod> read(Class<?> type) {
        Locked ofClass = AnnotatedElementUtils.findMergedAnnotation(type, Locked.class);
        Map<Method, LockedMethod> found = MethodIntrospector.selectMethods(type, (Method declared) -> {
            // A bridge stands for a method with other types, or for that of a superclass that is not public.
            Method method = BridgeMethodResolver.findBridgedMethod(declared);
            Locked locked = AnnotatedElementUtils.findMergedAnnotation(method, Locked.class);
            if (locked == null) {
                boolean isCovered = ofClass != null && isPublic(method)
                        && !isFallback(method, ofClass.fallback(), type);
                locked = isCovered ? ofClass : null;
            }
            return locked == null ? null : read(locked, method, type);
        });
        return found.values()
                .stream()
                .collect(Collectors.toMap(LockedMethod::method, Function.identity(),
                        (one, same) -> one));
    }

    private static boolean isPublic(Method method) {
        return Modifier.isPublic(method.getModifiers()) && !Modifier.isStatic(method.getModifiers())
                && !method.isSynthetic() && !isOfProxy(method.getDeclaringClass())
                && ReflectionUtils.findMethod(Object.class, method.getName(), method.getParameterTypes()) == null;
    }

    /** Whether Spring adds this interface to its proxies of interfaces. */
    private static boolean isOfProxy(Class<?> type) {
        return type == DecoratingProxy.class || type.getName().startsWith("org.springframework.aop.");
    }

    /** Whether other methods of the class have this one as their fallback, which runs without their lock. */
    private static boolean isFallback(Method method, String name, Class<?> type) {
        if (!method.getName().equals(name)) {
            return false;
        }
        List<Class<?>> parameters = List.of(method.getParameterTypes());
        List<Class<?>> withoutOutcome = new ArrayList<>(parameters);
        withoutOutcome.remove(AcquireOutcome.class);
        return Arrays.stream(ReflectionUtils.getUniqueDeclaredMethods(type))
                .filter(other -> isPublic(other) && !other.getName().equals(name))
                .map(other -> List.of(other.getParameterTypes()))
                .anyMatch(types -> types.equals(parameters) || types.equals(withoutOutcome));
    }

    private LockedMethod read(Locked locked, Method method, Class<?> type) {
        Reading reading = new Reading(locked, method, type, InvalidLockedException.nameOf(method, type));
        reading.checkMethod();
        String name = reading.resolved("name", locked.name());
        if (name.isBlank()) {
            throw reading.invalid("it has no name", "give one, such as @Locked(\"orders\")");
        }
        if (!locked.key().isEmpty()) {
            keys.check(locked.key(), method, type);
        }
        LockedResult result = reading.result();
        Method fallback = locked.fallback().isEmpty() ? null : reading.fallback();
        int outcomeIndex = fallback == null
                ? -1
                : Arrays.asList(fallback.getParameterTypes())
                        .indexOf(AcquireOutcome.class);
        boolean hasOutcome = fallback != null && fallback.getParameterCount() > method.getParameterCount();
        return new LockedMethod(method, reading.where, name, locked.key(), reading.ttl(), reading.options(), result,
                locked.onLoss(), reading.leaseIndex(), locked.skipIfHeld(), fallback, hasOutcome ? outcomeIndex : -1);
    }

    /**
     * One annotation while it is read.
     *
     * @threading immutable
     */
    private final class Reading {
        private final Locked locked;
        private final Method method;
        private final Class<?> type;
        private final String where;

        Reading(Locked locked, Method method, Class<?> type, String where) {
            this.locked = locked;
            this.method = method;
            this.type = type;
            this.where = where;
        }

        InvalidLockedException invalid(String problem, String action) {
            return new InvalidLockedException(where, problem, action, null);
        }

        /** A proxy is a subclass, or another implementation of the interfaces of a final class. */
        void checkMethod() {
            int modifiers = method.getModifiers();
            if (Modifier.isPrivate(modifiers) || Modifier.isStatic(modifiers)) {
                throw invalid("no proxy can lock a private or static method",
                        "make it a method of the object that is not private");
            }
            if (Modifier.isFinal(modifiers) && !Modifier.isFinal(type.getModifiers())) {
                throw invalid("no proxy can lock a final method",
                        "remove final; in Kotlin, open the method or use the plugin kotlin-spring");
            }
            if (isPackagePrivate(modifiers) && !isInPackageOf(method.getDeclaringClass())) {
                throw invalid("no proxy can lock a package-private method of a class in another package",
                        "make it protected or public");
            }
            if (AnnotatedElementUtils.hasAnnotation(method, Locked.class) && isOfLifeCycle()) {
                throw invalid("Spring calls it on the object itself when the bean starts or ends, so without the lock",
                        "lock in a method that handles ApplicationReadyEvent, or use Redlock.run");
            }
            if (locked.skipIfHeld() && !locked.fallback().isEmpty()) {
                throw invalid("it has skipIfHeld and a fallback", "remove one of them");
            }
        }

        private boolean isOfLifeCycle() {
            MergedAnnotations annotations = MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY);
            return LIFE_CYCLE.stream().anyMatch(annotations::isPresent)
                    || isOf(InitializingBean.class, "afterPropertiesSet")
                    || isOf(DisposableBean.class, "destroy");
        }

        private boolean isOf(Class<?> lifeCycle, String name) {
            return lifeCycle.isAssignableFrom(type) && method.getName().equals(name)
                    && method.getParameterCount() == 0;
        }

        private static boolean isPackagePrivate(int modifiers) {
            return !Modifier.isPublic(modifiers) && !Modifier.isProtected(modifiers) && !Modifier.isPrivate(modifiers);
        }

        /** The proxy is in the package of the type. Another class loader has other packages of the same names. */
        private boolean isInPackageOf(Class<?> declaring) {
            return declaring.getClassLoader() == type.getClassLoader()
                    && declaring.getPackageName().equals(type.getPackageName());
        }

        String resolved(String attribute, String text) {
            try {
                String resolved = beans.resolveEmbeddedValue(text);
                if (resolved != null && resolved.contains("${")) {
                    // A context without PropertySourcesPlaceholderConfigurer leaves it in.
                    throw new IllegalArgumentException(resolved);
                }
                return resolved == null ? "" : resolved.strip();
            } catch (IllegalArgumentException e) {
                throw new InvalidLockedException(where, attribute + " \"" + text + "\" has an unknown placeholder, "
                        + e.getMessage(), "set the property, or give a default as in ${name:default}", e);
            }
        }

        /** @return null for none */
        Duration duration(String attribute, String text) {
            String resolved = resolved(attribute, text);
            try {
                Duration duration = resolved.isEmpty() ? null : DurationStyle.detectAndParse(resolved);
                if (duration != null && duration.isNegative()) {
                    throw new IllegalArgumentException("it is negative");
                }
                return duration;
            } catch (IllegalArgumentException e) {
                throw new InvalidLockedException(where, attribute + " \"" + resolved + "\" is no duration",
                        "write for example 10s, 500ms or PT10S", e);
            }
        }

        Duration ttl() {
            Duration ttl = duration("ttl", locked.ttl());
            if (ttl == null) {
                throw invalid("it has no ttl", "write for example ttl = \"10s\"");
            }
            return ttl;
        }

        AcquireOptions options() {
            Duration ttl = ttl();
            Duration wait = duration("waitUpTo", locked.waitUpTo());
            Duration holdAtMost = duration("holdAtMost", locked.holdAtMost());
            Duration holdAtLeast = duration("holdAtLeast", locked.holdAtLeast());
            String group = resolved("group", locked.group());
            if (holdAtMost != null && holdAtMost.compareTo(ttl) < 0) {
                throw invalid("holdAtMost " + holdAtMost.toMillis() + " ms is shorter than the ttl " + ttl.toMillis()
                        + " ms", "use a shorter ttl, or the ttl for a lease that is not extended");
            }
            try {
                AcquireOptions options = AcquireOptions.ofTtl(ttl).group(group.isEmpty() ? null : group);
                if (holdAtMost == null) {
                    options = options.autoExtend();
                } else if (holdAtMost.compareTo(ttl) > 0) {
                    options = options.autoExtend(holdAtMost.minus(ttl));
                }
                if (wait != null) {
                    options = options.waitUpTo(wait);
                } else if (locked.skipIfHeld()) {
                    options = options.tryOnce();
                }
                if (holdAtLeast != null) {
                    options = options.holdAtLeast(holdAtLeast);
                }
                return kind(options);
            } catch (IllegalArgumentException e) {
                throw new InvalidLockedException(where, e.getMessage(), "correct the annotation", e);
            }
        }

        private AcquireOptions kind(AcquireOptions plain) {
            boolean isExclusive = locked.mode() == Locked.Mode.EXCLUSIVE;
            if (locked.permits() != 0 && !isExclusive) {
                throw invalid("it has permits and the mode " + locked.mode(), "remove one of them");
            }
            boolean isReading = locked.mode() == Locked.Mode.READ;
            if (locked.fenced() && (isReading || locked.permits() != 0) || locked.watchLoss() && isReading) {
                throw invalid("it has fenced or watchLoss, which readers do not have, or fenced and permits",
                        "remove one of them");
            }
            AcquireOptions options = locked.fenced() ? plain.fenced() : plain;
            options = locked.watchLoss() ? options.watchLoss() : options;
            if (locked.permits() != 0) {
                return options.forPermitOf(locked.permits());
            }
            return isExclusive ? options : isReading ? options.forReading() : options.forWriting();
        }

        int leaseIndex() {
            List<Class<?>> types = Arrays.asList(method.getParameterTypes());
            if (types.indexOf(Lease.class) != types.lastIndexOf(Lease.class)) {
                throw invalid("it has several parameters of the type Lease", "leave one");
            }
            return types.indexOf(Lease.class);
        }

        LockedResult result() {
            LockedResult result = LockedResults.of(method, type);
            if (result == null && KotlinDetector.isSuspendingFunction(method) && !LockedResults.hasCoroutines()) {
                throw invalid("it is a suspend function, which needs Reactor",
                        "add kotlinx-coroutines-reactor and kotlin-reflect");
            }
            if (result == null) {
                throw invalid("it returns " + LockedResults.genericTypeOf(method, type)
                        + ", whose work may continue when the method has returned and the lock is free",
                        "return a complete value or a CompletableFuture of one, or with reactor-core a Mono or a Flux");
            }
            if (locked.skipIfHeld() && !LockedResults.isWithoutValue(method, type)) {
                throw invalid("it has skipIfHeld and a value", "use a fallback, which returns one");
            }
            return result;
        }

        /** A method with the same parameters; or one more for the outcome, before the continuation of Kotlin. */
        Method fallback() {
            Class<?>[] types = method.getParameterTypes();
            boolean isSuspending = types.length > 0 && types[types.length - 1].getName().equals(CONTINUATION);
            int outcomeIndex = isSuspending ? types.length - 1 : types.length;
            Class<?>[] more = new Class<?>[types.length + 1];
            System.arraycopy(types, 0, more, 0, outcomeIndex);
            more[outcomeIndex] = AcquireOutcome.class;
            System.arraycopy(types, outcomeIndex, more, outcomeIndex + 1, types.length - outcomeIndex);
            Method fallback = ReflectionUtils.findMethod(type, locked.fallback(), more);
            fallback = fallback == null ? ReflectionUtils.findMethod(type, locked.fallback(), types) : fallback;
            if (fallback == null || fallback.equals(method)) {
                throw invalid("the fallback \"" + locked.fallback() + "\" is no other method of the class with the same"
                        + " parameters", "declare it, if you like with an AcquireOutcome as the last parameter");
            }
            Class<?> wanted = ClassUtils.resolvePrimitiveIfNecessary(LockedResults.typeOf(method, type));
            Class<?> given = ClassUtils.resolvePrimitiveIfNecessary(LockedResults.typeOf(fallback, type));
            if (!wanted.isAssignableFrom(given) && wanted != Void.class) {
                throw invalid("the fallback \"" + locked.fallback() + "\" returns " + given.getName() + ", which is no "
                        + wanted.getName(), "return that type");
            }
            ReflectionUtils.makeAccessible(fallback);
            return fallback;
        }
    }
}
