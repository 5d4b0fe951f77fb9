package dev.redlock.spring;

import java.util.List;
import org.springframework.boot.autoconfigure.service.connection.ConnectionDetails;

/**
 * The nodes of the client, from code and not from properties. A container with {@code @ServiceConnection} and a service
 * of Docker Compose provide such a bean; a bean of your own names several nodes.
 *
 * <p>While there is such a bean, {@code redlock.nodes}, {@code redlock.next-nodes} and the properties with users and
 * passwords have no effect. The nodes of several beans, in their order, are the nodes of the client. The names of the
 * methods are those of the other connection details of Spring Boot.
 *
 * <pre>{@code
 * @Bean
 * RedlockConnectionDetails nodes(@Qualifier("a") RedisContainer a, @Qualifier("b") RedisContainer b) {
 *     return () -> List.of(a.getRedisURI(), b.getRedisURI());
 * }
 * }</pre>
 *
 * @threading any thread; called once, while the context is created
 */
@FunctionalInterface
public interface RedlockConnectionDetails extends ConnectionDetails {

    /** @return addresses as those of {@code RedlockContext.nodes}, at least one */
    List<String> getNodes();

    /** @return the ACL user for each of the nodes, which applies with the password; null for none */
    default String getUsername() {
        return null;
    }

    /**
     * The password for each of the nodes whose address has none. Credentials of a {@link RedlockContextCustomizer}
     * replace it.
     *
     * @return null for none
     */
    default String getPassword() {
        return null;
    }
}
