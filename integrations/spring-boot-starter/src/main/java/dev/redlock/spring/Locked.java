package dev.redlock.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.aot.hint.annotation.Reflective;
import org.springframework.core.annotation.AliasFor;

/**
 * Runs a method of a bean under a lock.
 *
 * <pre>{@code
 * @Locked(name = "orders", key = "#id")
 * public void ship(String id) { ... }
 * }</pre>
 *
 * <p>The lock is taken before the method starts and released after it has ended:
 * <ul>
 * <li>A method with a plain value or none waits for the lock and runs on the thread of its caller.
 * <li>A method that returns a {@link java.util.concurrent.CompletionStage} or
 * {@link java.util.concurrent.CompletableFuture} returns at once. It runs on
 * {@link dev.redlock.RedlockContext#callbackExecutor}, and the lock is held until its stage has completed. A caller
 * that completes or cancels the returned future ends the wait for the lock, or cancels the stage of the method.
 * <li>A method that returns a {@code Mono}, a {@code Flux} or another reactive type that Spring adapts, and a Kotlin
 * {@code suspend} function, take a lock for each subscription, which runs the method. The lock is held until it
 * completes, fails or is cancelled. They need Reactor.
 * </ul>
 *
 * <p>An asynchronous method starts the release and does not wait for it, also not with
 * {@link dev.redlock.RedlockContext#closeWaits closeWaits}.
 *
 * <p>The client extends the lease while the method runs. A parameter of the type {@link dev.redlock.api.Lease} gets the
 * lease of the call; callers pass null. Locks are not reentrant.
 *
 * <p>The method is reached through a proxy of Spring, around its transaction. So a call from the same object takes no
 * lock. On a class, the annotation applies to its public methods, except the {@link #fallback}. As a meta-annotation it
 * can pass its attributes on with {@link AliasFor}. The application does not start if the annotation is invalid, or if
 * its method is private, static or final, or package-private in a superclass of another package.
 *
 * <p>Spring calls the methods of a bean's life cycle on the object itself, so without a lock. The application does not
 * start if a method with {@code @PostConstruct} or {@code @PreDestroy}, {@code afterPropertiesSet} or {@code destroy}
 * has the annotation itself. For work at the start, lock a method that handles {@code ApplicationReadyEvent}. A bean
 * that a {@code BeanPostProcessor} needs gets no proxy; the starter logs that.
 *
 * <p>Durations are texts like {@code 10s}, {@code 500ms} or {@code PT10S}. They, the name and the group may contain
 * <code>${...}</code>.
 *
 * @threading immutable
 */
@Target({ElementType.METHOD, ElementType.TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Inherited
@Documented
@Reflective(LockedHints.class)
public @interface Locked {

    /** The name of the lock, as {@link #name}. */
    @AliasFor("name")
    String value() default "";

    /** The name of the lock. With a {@link #key}, the resource is the name, a slash, and the key. */
    @AliasFor("value")
    String name() default "";

    /**
     * A SpEL expression for the rest of the resource, over the parameters ({@code #id}, {@code #p0}), the beans
     * ({@code @bean}) and {@code #root} with {@code method}, {@code methodName}, {@code args}, {@code target} and
     * {@code targetClass}. The value has a text that is not empty. A collection or an array locks a set of resources,
     * all or none. Default: the name alone is the resource.
     */
    String key() default "";

    /** The time to live of the lock, after which it is free if this process dies. */
    String ttl() default "${redlock.locked.ttl:30s}";

    /** The wait budget. Default: that of the client, or one attempt with {@link #skipIfHeld}. */
    String waitUpTo() default "";

    /**
     * The time from the acquisition after which the lease ends, although the method runs; at least the ttl. With the
     * ttl itself, the lease is not extended. Default: no limit.
     */
    String holdAtMost() default "";

    /**
     * The time from the acquisition for which the lock stays, although the method is shorter; see
     * {@link dev.redlock.AcquireOptions#holdAtLeast}.
     */
    String holdAtLeast() default "";

    /** Whether the lease has a fencing token, {@link dev.redlock.api.Lease#fencingToken}. */
    boolean fenced() default false;

    /** Whether nodes report a deleted key at once; see {@link dev.redlock.AcquireOptions#watchLoss}. */
    boolean watchLoss() default false;

    /** Whether the method excludes all others, reads or writes. */
    Mode mode() default Mode.EXCLUSIVE;

    /** The permits of a semaphore, 1 to 256, of which the method takes one. Default: no semaphore. */
    int permits() default 0;

    /**
     * What the lock is for, as a tag of meters: a constant name, at most 64 characters of printable ASCII without
     * blanks; see {@link dev.redlock.AcquireOptions#group(String)}. Default: none.
     */
    String group() default "";

    /** The reaction to the loss of the lease while the method runs. */
    OnLoss onLoss() default OnLoss.THROW;

    /**
     * The name of a method of the same bean that is called if the lock was not acquired. It has the same parameters, or
     * the same and a {@link dev.redlock.api.AcquireOutcome} as the last one, and a fitting result. Default: the call
     * fails with a {@link dev.redlock.api.LockNotAcquiredException}.
     */
    String fallback() default "";

    /**
     * For scheduled jobs: if another holder has the lock, the method does not run, and nothing is thrown. Other
     * failures, such as a missing quorum, are thrown. For methods without a value only.
     */
    boolean skipIfHeld() default false;

    /**
     * The kinds of lock.
     *
     * @threading immutable
     */
    enum Mode {
        /** One holder. */
        EXCLUSIVE,
        /** Together with other readers, without a writer; see {@link dev.redlock.AcquireOptions#forReading}. */
        READ,
        /** Alone; new readers wait for it; see {@link dev.redlock.AcquireOptions#forWriting}. */
        WRITE
    }

    /**
     * The reactions to the loss of the lease while the method runs. A lease is lost if it has expired, or if its quorum
     * is lost.
     *
     * <p>A client that is closed releases the lease and stops no method. When the method has ended, the call fails as
     * with a loss, unless the reaction is {@link #IGNORE} or the method has a parameter of the type
     * {@link dev.redlock.api.Lease}: it may have released the lease itself. The starter closes its client after the
     * beans with locked methods.
     *
     * @threading immutable
     */
    enum OnLoss {
        /**
         * The method continues. When it has ended without a failure, the call fails with a {@link LeaseLostException},
         * although the method, and its transaction, may have succeeded. A failure of the method has the exception as a
         * suppressed one.
         */
        THROW,
        /**
         * Stops the method at once: the thread of a blocking method is interrupted, a stage is cancelled, the
         * subscription of a publisher is cancelled. The call fails with a {@link LeaseLostException}. If a thread was
         * interrupted, that has the failure of the method as its cause.
         */
        INTERRUPT,
        /** Nothing: the method has a parameter of the type {@link dev.redlock.api.Lease} and checks it. */
        IGNORE
    }
}
