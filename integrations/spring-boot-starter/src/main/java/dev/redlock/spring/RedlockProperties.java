package dev.redlock.spring;

import dev.redlock.Credentials;
import dev.redlock.RedlockContext;
import dev.redlock.api.CommandMode;
import dev.redlock.api.IdlePolicy;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.api.TransportKind;
import java.time.Duration;
import java.util.function.Consumer;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;

/**
 * The properties {@code redlock.*}. Each has the name of its method of {@link RedlockContext}; without a value the
 * default of the context applies. An unknown name is an error, because a mistyped {@code max-ttl} would be unsafe.
 *
 * @threading immutable
 */
@ConfigurationProperties(prefix = "redlock", ignoreUnknownFields = false)
record RedlockProperties(Boolean enabled, String[] nodes, String[] nextNodes, String username, String password,
        String keyPrefix, String clientName, Boolean nameInValues, Duration maxTtl, Duration minValidity,
        Duration nodeTimeout, RestartGuardMode restartGuard, Duration clockSampleInterval, Duration fenceCounterTtl,
        String[] clusterServers, Duration defaultWait, Duration connectTimeout, Duration closeTimeout,
        Integer eventLoops, IdlePolicy idlePolicy, TransportKind transport, CommandMode commands,
        Boolean thriftyQuorums, Duration slowAcquireThreshold) {

    void applyTo(RedlockContext context) {
        applyList(nodes, context::nodes);
        applyList(nextNodes, context::nextNodes);
        apply("key-prefix", keyPrefix, context::keyPrefix);
        apply("client-name", clientName, context::clientName);
        apply("name-in-values", nameInValues, context::nameInValues);
        apply("max-ttl", maxTtl, context::maxTtl);
        apply("min-validity", minValidity, context::minValidity);
        apply("node-timeout", nodeTimeout, context::nodeTimeout);
        apply("restart-guard", restartGuard, context::restartGuard);
        apply("clock-sample-interval", clockSampleInterval, context::clockSampleInterval);
        apply("fence-counter-ttl", fenceCounterTtl, context::fenceCounterTtl);
        applyList(clusterServers, context::clusterServers);
        apply("default-wait", defaultWait, context::defaultWait);
        apply("connect-timeout", connectTimeout, context::connectTimeout);
        apply("close-timeout", closeTimeout, context::closeTimeout);
        apply("event-loops", eventLoops, count -> context.eventLoops(count));
        apply("idle-policy", idlePolicy, context::idlePolicy);
        apply("transport", transport, context::transport);
        apply("commands", commands, context::commands);
        apply("thrifty-quorums", thriftyQuorums, context::thriftyQuorums);
        apply("slow-acquire-threshold", slowAcquireThreshold, context::slowAcquireThreshold);
        if (password != null) {
            context.credentials(address -> username == null
                    ? Credentials.of(password.toCharArray())
                    : Credentials.of(username, password.toCharArray()));
        }
    }

    /** The report of Spring Boot would show the value, and an address may contain a password. */
    private static void applyList(String[] values, Consumer<String[]> option) {
        if (values != null) {
            option.accept(values);
        }
    }

    /** A value out of range names its property and the place that it comes from. */
    private static <T> void apply(String name, T value, Consumer<T> option) {
        if (value != null) {
            try {
                option.accept(value);
            } catch (IllegalArgumentException e) {
                throw new InvalidConfigurationPropertyValueException("redlock." + name, value, e.getMessage());
            }
        }
    }

    /** Shows no password; addresses may contain one too. */
    @Override
    public String toString() {
        return "RedlockProperties";
    }
}
