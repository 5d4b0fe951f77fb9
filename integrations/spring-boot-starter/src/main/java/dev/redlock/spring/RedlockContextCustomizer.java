package dev.redlock.spring;

import dev.redlock.RedlockContext;

/**
 * A bean that sets options without a property, such as TLS. Such beans are called in their order, after the properties
 * have been applied.
 *
 * @threading caller-confined
 */
@FunctionalInterface
public interface RedlockContextCustomizer {
    /** @param context the options, with the values of the properties */
    void customize(RedlockContext context);
}
