package dev.redlock.spring;

import dev.redlock.RedlockContext;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.springframework.beans.factory.ListableBeanFactory;

/**
 * The beans with connection details. Those of redlock, then those of any container, precede the properties
 * {@code redlock.*}. That of Spring Data Redis precedes {@code spring.data.redis.*} only: a program that names its
 * nodes must not lose them because a bean names its cache.
 *
 * @threading caller-confined
 */
record NodeDetails(ListableBeanFactory beans) {

    /** @return empty if the properties name the nodes */
    List<RedlockConnectionDetails> ofNodes() {
        List<RedlockConnectionDetails> own = beans.getBeanProvider(RedlockConnectionDetails.class)
                .orderedStream()
                .toList();
        return own.isEmpty()
                ? beans.getBeanProvider(ServerConnectionDetails.class)
                        .orderedStream()
                        .map(ServerConnectionDetails::asNode)
                        .toList()
                : own;
    }

    /** @return null if there are none */
    ApplicationRedis ofApplication() {
        ApplicationRedis.Source source = beans.getBeanProvider(ApplicationRedis.Source.class).getIfUnique();
        return source == null ? null : source.find();
    }

    /**
     * Adds the nodes, each with its credentials unless the context has some.
     *
     * @return the addresses, without user and password
     */
    static List<String> apply(List<RedlockConnectionDetails> all, RedlockContext context) {
        List<String> shown = new ArrayList<>();
        for (RedlockConnectionDetails details : all) {
            List<String> nodes = details.getNodes();
            if (nodes == null || nodes.isEmpty() || nodes.stream().anyMatch(Objects::isNull)) {
                throw new IllegalArgumentException("connection details of class " + details.getClass().getName()
                        + " have no node, or one that is null: getNodes() has to return at least one address");
            }
            String password = context.hasCredentials() ? null : details.getPassword();
            for (String node : nodes) {
                context.nodes(password == null || node.indexOf('@') >= 0
                        ? node
                        : DataRedisProperties.withLogin(node, details.getUsername(), password));
                shown.add(RedlockProperties.withoutLogin(node));
            }
        }
        return shown;
    }
}
