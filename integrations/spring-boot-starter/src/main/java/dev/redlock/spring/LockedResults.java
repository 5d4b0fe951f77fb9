package dev.redlock.spring;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;
import org.springframework.core.KotlinDetector;
import org.springframework.core.MethodParameter;
import org.springframework.core.ReactiveAdapter;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ResolvableType;
import org.springframework.util.ClassUtils;

/**
 * The types of results. Those of Reactor, Kotlin and Spring MVC are optional, so names stand for some of them.
 *
 * @threading any thread
 */
final class LockedResults {

    private static final boolean HAS_REACTOR = ClassUtils.isPresent("reactor.core.publisher.Flux",
            LockedResults.class.getClassLoader());

    /** Spring then shows a suspend function as a method with a Mono, or with a Flux for a Flow. */
    private static final boolean HAS_COROUTINES = HAS_REACTOR
            && ClassUtils.isPresent("kotlinx.coroutines.reactor.MonoKt", LockedResults.class.getClassLoader())
            && ClassUtils.isPresent("kotlin.reflect.full.KClasses", LockedResults.class.getClassLoader());

    private static final String FLOW = "kotlinx.coroutines.flow.Flow";

    /** Spring adapts it to a Mono, but its work runs already, and continues when the Mono is cancelled. */
    private static final Set<String> RUNNING = Set.of("kotlinx.coroutines.Deferred");

    /** Spring runs those that a suspend function returns as a part of it. */
    private static final Set<String> PUBLISHERS = Set.of("org.reactivestreams.Publisher", FLOW);

    /** Their work continues, or starts, when the method has returned. */
    private static final Set<String> DEFERRED = Set.of("java.util.concurrent.Future", "java.util.concurrent.Callable",
            "java.util.concurrent.CompletionStage", "java.util.concurrent.Flow$Publisher",
            "java.util.stream.BaseStream", "org.reactivestreams.Publisher", FLOW, "kotlinx.coroutines.Deferred",
            "kotlin.sequences.Sequence", "io.smallrye.mutiny.Uni", "io.reactivex.rxjava3.core.SingleSource",
            "io.reactivex.rxjava3.core.MaybeSource", "io.reactivex.rxjava3.core.CompletableSource",
            "io.reactivex.rxjava3.core.ObservableSource",
            "org.springframework.web.context.request.async.DeferredResult",
            "org.springframework.web.context.request.async.WebAsyncTask",
            "org.springframework.web.servlet.mvc.method.annotation.ResponseBodyEmitter",
            "org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody");

    /** A type may contain itself, as in {@code T extends Comparable<T>}. */
    private static final int DEPTH_MAX = 6;

    private LockedResults() {
    }

    static boolean hasCoroutines() {
        return HAS_COROUTINES;
    }

    /** @return null if no lock can follow the result */
    static LockedResult of(Method method, Class<?> type) {
        return hasDeferredPart(genericTypeOf(method, type), DEPTH_MAX) ? null : kindOf(method, typeOf(method, type));
    }

    private static LockedResult kindOf(Method method, Class<?> result) {
        if (isAny(RUNNING, result)) {
            return null;
        }
        if (KotlinDetector.isSuspendingFunction(method)) {
            boolean isValue = !isAny(DEFERRED, result) || isAny(PUBLISHERS, result);
            return !HAS_COROUTINES || !isValue
                    ? null
                    : result.getName().equals(FLOW) ? LockedResult.FLUX : LockedResult.MONO;
        }
        if (result == CompletionStage.class || result == CompletableFuture.class) {
            return LockedResult.STAGE;
        }
        ReactiveAdapter adapter = CompletionStage.class.isAssignableFrom(result) ? null : adapter(result);
        if (adapter != null) {
            return adapter.isMultiValue() ? LockedResult.FLUX : LockedResult.MONO;
        }
        return isAny(DEFERRED, result) ? null : LockedResult.VALUE;
    }

    static ReactiveAdapter adapter(Class<?> result) {
        return HAS_REACTOR ? ReactiveAdapterRegistry.getSharedInstance().getAdapter(result) : null;
    }

    /** @return the type of the result, that of a suspend function too */
    static Class<?> typeOf(Method method, Class<?> type) {
        return KotlinDetector.isSuspendingFunction(method)
                ? new MethodParameter(method, -1).getParameterType()
                : ResolvableType.forMethodReturnType(method, type).resolve(method.getReturnType());
    }

    /** @return the same with its generics */
    static ResolvableType genericTypeOf(Method method, Class<?> type) {
        return KotlinDetector.isSuspendingFunction(method)
                ? ResolvableType.forMethodParameter(new MethodParameter(method, -1))
                : ResolvableType.forMethodReturnType(method, type);
    }

    /** Whether null, a stage of null or an empty publisher is the result. */
    static boolean isWithoutValue(Method method, Class<?> type) {
        ResolvableType result = ResolvableType.forMethodReturnType(method, type);
        LockedResult kind = of(method, type);
        Class<?> value = KotlinDetector.isSuspendingFunction(method)
                ? typeOf(method, type)
                : kind == LockedResult.VALUE ? result.resolve(method.getReturnType()) : result.resolveGeneric(0);
        return kind == LockedResult.FLUX || value == null || value == void.class || value == Void.class
                || value.getName().equals("kotlin.Unit");
    }

    /** Whether a value, whose method declares another type, is the promise of one. */
    static boolean isPromise(Object value) {
        return value != null && isAny(DEFERRED, value.getClass());
    }

    /** Whether a value contains a promise, such as a response with a body that is written later. */
    private static boolean hasDeferredPart(ResolvableType type, int depth) {
        Stream<ResolvableType> parts = type.isArray()
                ? Stream.of(type.getComponentType())
                : Stream.of(type.getGenerics());
        return depth > 0 && parts.anyMatch(part -> {
            Class<?> found = part.resolve();
            return found != null && (isAny(DEFERRED, found) || adapter(found) != null)
                    || hasDeferredPart(part, depth - 1);
        });
    }

    /** Whether a type, or one of its supertypes, has one of these names. */
    static boolean isAny(Set<String> names, Class<?> type) {
        return type != null && (names.contains(type.getName()) || isAny(names, type.getSuperclass())
                || Arrays.stream(type.getInterfaces()).anyMatch(one -> isAny(names, one)));
    }
}
