package dev.redlock.spring;

import java.util.List;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.data.redis.RedisConnectionDetails;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * The connection details of Spring Data Redis, if the application has some. They have one type in Spring Boot 3 and
 * another one in Spring Boot 4.
 *
 * @threading immutable
 */
@AutoConfiguration(before = RedlockAutoConfiguration.class)
@ConditionalOnProperty(name = "redlock.enabled", matchIfMissing = true)
class RedlockConnectionAutoConfiguration {

    /** @threading immutable */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(RedisConnectionDetails.class)
    static class Boot3Redis {
        @Bean
        ApplicationRedis.Source redlockApplicationRedis(ObjectProvider<RedisConnectionDetails> details) {
            return () -> find(details.getIfUnique());
        }

        private static ApplicationRedis find(RedisConnectionDetails details) {
            if (details == null || ApplicationRedis.isOfProperties(details)) {
                return null;
            }
            RedisConnectionDetails.Sentinel sentinel = details.getSentinel();
            RedisConnectionDetails.Cluster cluster = details.getCluster();
            RedisConnectionDetails.Standalone standalone = details.getStandalone();
            if (sentinel != null) {
                boolean isTls = sentinel.getSslBundle() != null;
                return redis(details, ApplicationRedis.sentinels(sentinel.getMaster(), servers(sentinel.getNodes()),
                        isTls), ApplicationRedis.Login.of(sentinel.getUsername(), sentinel.getPassword()), isTls);
            }
            if (cluster != null) {
                boolean isTls = cluster.getSslBundle() != null;
                return redis(details, ApplicationRedis.cluster(servers(cluster.getNodes()), isTls), null, isTls);
            }
            if (standalone != null) {
                boolean isTls = standalone.getSslBundle() != null;
                ApplicationRedis.Server server = new ApplicationRedis.Server(standalone.getHost(),
                        standalone.getPort());
                return redis(details, ApplicationRedis.standalone(server, isTls), null, isTls);
            }
            return null;
        }

        private static ApplicationRedis redis(RedisConnectionDetails details, String address,
                ApplicationRedis.Login sentinelLogin,
                boolean isTls) {
            return new ApplicationRedis(address, details.getUsername(), details.getPassword(), sentinelLogin, isTls);
        }

        private static List<ApplicationRedis.Server> servers(List<RedisConnectionDetails.Node> nodes) {
            return nodes.stream().map(node -> new ApplicationRedis.Server(node.host(), node.port())).toList();
        }
    }

    /** @threading immutable */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(DataRedisConnectionDetails.class)
    static class Boot4Redis {
        @Bean
        ApplicationRedis.Source redlockApplicationRedis(ObjectProvider<DataRedisConnectionDetails> details) {
            return () -> find(details.getIfUnique());
        }

        private static ApplicationRedis find(DataRedisConnectionDetails details) {
            if (details == null || ApplicationRedis.isOfProperties(details)) {
                return null;
            }
            boolean isTls = details.getSslBundle() != null;
            DataRedisConnectionDetails.Sentinel sentinel = details.getSentinel();
            DataRedisConnectionDetails.Cluster cluster = details.getCluster();
            DataRedisConnectionDetails.Standalone standalone = details.getStandalone();
            String address = null;
            if (sentinel != null) {
                address = ApplicationRedis.sentinels(sentinel.getMaster(), servers(sentinel.getNodes()), isTls);
            } else if (cluster != null) {
                address = ApplicationRedis.cluster(servers(cluster.getNodes()), isTls);
            } else if (standalone != null) {
                address = ApplicationRedis
                        .standalone(new ApplicationRedis.Server(standalone.getHost(), standalone.getPort()), isTls);
            }
            ApplicationRedis.Login sentinelLogin = sentinel == null
                    ? null
                    : ApplicationRedis.Login.of(sentinel.getUsername(), sentinel.getPassword());
            return address == null
                    ? null
                    : new ApplicationRedis(address, details.getUsername(), details.getPassword(), sentinelLogin, isTls);
        }

        private static List<ApplicationRedis.Server> servers(List<DataRedisConnectionDetails.Node> nodes) {
            return nodes.stream().map(node -> new ApplicationRedis.Server(node.host(), node.port())).toList();
        }
    }
}
