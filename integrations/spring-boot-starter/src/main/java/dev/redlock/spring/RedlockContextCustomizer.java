package dev.redlock.spring;

import dev.redlock.RedlockContext;

/**
 * A bean of this type sets options that have no property, such as TLS, credentials that rotate and the retry policy.
 * Beans are called in their order, after the properties have been applied.
 *
 * @threading caller-confined
 */
@FunctionalInterface
public interface RedlockContextCustomizer {

    /**
     * Sets options.
     *
     * @param context the context of the client, which has the values of the properties
     */
    void customize(RedlockContext context);
}
