package dev.redlock.api;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A result that a caller must use: to ignore it leaks a lock, or hides that no lock was acquired. Static checkers such
 * as Error Prone and SpotBugs find such callers by the simple name of this annotation. On a type, it applies to all
 * methods.
 *
 * @threading immutable
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
public @interface CheckReturnValue {
}
