package dev.redlock.node;

import dev.redlock.transport.Login;

/**
 * The user's credentials provider, as nodes see it.
 *
 * @threading any thread
 */
@FunctionalInterface
public interface LoginSource {

    /**
     * Asks for the login of one connection. It may block and throw.
     *
     * @return owned by the caller; null if the provider returned null
     * @throws Exception whatever the provider throws
     */
    Login login(String address) throws Exception;
}
