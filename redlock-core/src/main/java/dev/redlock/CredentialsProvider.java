package dev.redlock;

/**
 * Supplies user and password of each connection: from a file that changes, a secret store, or a service that issues
 * tokens.
 *
 * <p>The client asks when a connection is open, and again after {@link Credentials#refreshAfter}. It asks separately
 * for each node and each event loop, so a provider that fetches over the network should cache the secret and return
 * copies.
 *
 * <ul>
 * <li>It may block and may use the client. Each node has a thread of its own for it on each event loop, for one call at
 * a time.
 * <li>After 10 s the client interrupts the thread, reports a problem and tries again.
 * <li>It may throw or return null. {@link NodeStatus#problem()} then shows the reason, and the client tries again after
 * the delay of {@link RedlockContext#reconnectDelay RedlockContext.reconnectDelay}. The message of an exception is not
 * shown, because it may contain a secret.
 * </ul>
 *
 * @threading any thread, concurrently for different nodes
 */
@FunctionalInterface
public interface CredentialsProvider {

    /**
     * Supplies the credentials for one connection.
     *
     * @param nodeAddress the node's address, as {@link NodeStatus#address()} shows it
     * @return new credentials with a new password array, which belong to the client
     * @throws Exception if there are none now
     */
    Credentials credentials(String nodeAddress) throws Exception;
}
