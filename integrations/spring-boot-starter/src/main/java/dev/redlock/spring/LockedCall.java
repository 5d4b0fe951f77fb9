package dev.redlock.spring;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.ResourceKey;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseListener;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.aopalliance.intercept.MethodInvocation;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.interceptor.ExposeInvocationInterceptor;
import org.springframework.aop.support.AopUtils;

/**
 * One call of a {@link Locked} method. With a publisher, each subscription runs the method once.
 *
 * @threading any thread
 */
record LockedCall(LockedMethod locked, Redlock redlock, ResourceKey key, MethodInvocation invocation) {

    private static final Logger LOG = System.getLogger("dev.redlock");

    /** The options, with a listener if a loss stops the method. */
    private AcquireOptions options(LeaseListener listener) {
        return locked.onLoss() == Locked.OnLoss.INTERRUPT ? locked.options().listener(listener) : locked.options();
    }

    AcquireOutcome acquire(LeaseListener listener) throws InterruptedException {
        return redlock.acquire(key, options(listener));
    }

    CompletableFuture<AcquireOutcome> acquireAsync(LeaseListener listener) {
        return redlock.acquireAsync(key, options(listener)).toCompletableFuture();
    }

    /**
     * Runs the method. The invocation of the proxy stays as it is, for other subscriptions and for retries. Aspects
     * below this one find the invocation by the thread, which may be another one than that of the caller.
     */
    Object proceed(Lease lease) throws Throwable {
        if (!(invocation instanceof ProxyMethodInvocation proxied)) {
            locked.withLease(invocation.getArguments(), lease);
            return invocation.proceed();
        }
        Object[] arguments = locked.withLease(proxied.getArguments().clone(), lease);
        return ExposeInvocationInterceptor.INSTANCE.invoke(proxied.invocableClone(arguments));
    }

    /**
     * Ends the lease of an asynchronous call. It does not wait, also not with
     * {@link dev.redlock.RedlockContext#closeWaits closeWaits}: the thread may be an event loop of the application.
     */
    void release(Lease lease) {
        try {
            lease.release((released, outcome) -> {
                // The client counts and logs a release that fails.
            });
        } catch (IllegalStateException e) {
            LOG.log(Level.DEBUG, () -> locked.where() + " has started the release of its lease itself");
        }
    }

    /**
     * The result without the lock: that of the fallback, or null if the method is to be skipped.
     *
     * @throws dev.redlock.api.LockNotAcquiredException otherwise
     */
    Object notAcquired(AcquireOutcome outcome) throws Throwable {
        if (locked.fallback() != null) {
            return AopUtils.invokeJoinpointUsingReflection(invocation.getThis(), locked.fallback(),
                    fallbackArguments(outcome));
        }
        AcquireOutcome.Kind reason = outcome.kind() == AcquireOutcome.Kind.TIMED_OUT
                ? outcome.lastReason()
                : outcome.kind();
        if (locked.isSkipped() && reason == AcquireOutcome.Kind.CONTENDED) {
            LOG.log(Level.DEBUG, () -> locked.where() + " is skipped: another holder has the lock");
            return null;
        }
        return outcome.lease();
    }

    private Object[] fallbackArguments(AcquireOutcome outcome) {
        Object[] arguments = invocation.getArguments();
        int index = locked.outcomeIndex();
        if (index < 0) {
            return arguments;
        }
        Object[] more = new Object[arguments.length + 1];
        System.arraycopy(arguments, 0, more, 0, index);
        more[index] = outcome;
        System.arraycopy(arguments, index, more, index + 1, arguments.length - index);
        return more;
    }

    /**
     * The failure of a method whose lease may have been lost too. CompletableFuture.get removes the wrapper of a
     * failure, so the cause gets the loss.
     */
    Throwable failure(Throwable thrown, LeaseLostException loss) {
        boolean isWrapper = thrown instanceof CompletionException && thrown.getCause() != null;
        Throwable own = isWrapper ? thrown.getCause() : thrown;
        if (loss != null && loss != own && own.getCause() != loss) {
            own.addSuppressed(loss);
        }
        return thrown;
    }
}
