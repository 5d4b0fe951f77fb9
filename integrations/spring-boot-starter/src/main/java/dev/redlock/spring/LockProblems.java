package dev.redlock.spring;

import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.LockNotAcquiredException;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.ExceptionHandler;

/**
 * The answer to a request whose lock was not acquired, unless the application has a handler: 409 if another holder has
 * the lock, else 503. It names neither the lock nor the nodes.
 *
 * @threading immutable
 */
@ControllerAdvice
@Order(Ordered.LOWEST_PRECEDENCE)
final class LockProblems {

    @ExceptionHandler
    ProblemDetail onNotAcquired(LockNotAcquiredException e) {
        AcquireOutcome outcome = e.outcome();
        AcquireOutcome.Kind reason = outcome != null && e.kind() == AcquireOutcome.Kind.TIMED_OUT
                ? outcome.lastReason()
                : e.kind();
        ProblemDetail problem = reason == AcquireOutcome.Kind.CONTENDED
                ? ProblemDetail.forStatusAndDetail(HttpStatus.CONFLICT,
                        "Another request is using this resource. Try again later.")
                : ProblemDetail.forStatusAndDetail(HttpStatus.SERVICE_UNAVAILABLE,
                        "The resource cannot be locked at the moment. Try again later.");
        problem.setProperty("reason", reason.name());
        return problem;
    }
}
