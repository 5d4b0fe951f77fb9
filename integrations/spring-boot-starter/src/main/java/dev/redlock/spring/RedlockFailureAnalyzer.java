package dev.redlock.spring;

import java.util.Arrays;
import org.springframework.boot.context.properties.bind.UnboundConfigurationPropertiesException;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/**
 * Names the fix if the application cannot start because of its Netty or of its options. It precedes the analyzers of
 * Spring Boot, which show the value of an unknown property: it may be a password with a mistyped name.
 *
 * @threading immutable
 */
@Order(Ordered.HIGHEST_PRECEDENCE)
final class RedlockFailureAnalyzer implements FailureAnalyzer {

    /** The version of the build. A test compares it with the POM. */
    private static final String NETTY = "4.2.18.Final";
    private static final String NETTY_ACTION = "Set the property netty.version to " + NETTY + ": in Maven"
            + " <netty.version>" + NETTY + "</netty.version>, in Gradle extra[\"netty.version\"] = \"" + NETTY
            + "\". Without spring-boot-starter-parent, import io.netty:netty-bom:" + NETTY
            + " before spring-boot-dependencies.";

    @Override
    public FailureAnalysis analyze(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            String message = String.valueOf(cause.getMessage());
            if (cause instanceof IllegalStateException && message.startsWith("redlock needs Netty")
                    || cause instanceof LinkageError && message.contains("io/netty/")
                            && isFrom(cause, "dev.redlock.")) {
                return new FailureAnalysis("Netty does not fit redlock: " + message, NETTY_ACTION, cause);
            }
            if (cause instanceof UnboundConfigurationPropertiesException && message.contains("redlock.")
                    || cause instanceof IllegalArgumentException && isFrom(cause, "dev.redlock.RedlockContext")) {
                return new FailureAnalysis("The options of redlock are invalid: " + message,
                        "Correct the properties redlock.*; a RedlockContextCustomizer sets all other options.", cause);
            }
        }
        return null;
    }

    private static boolean isFrom(Throwable cause, String prefix) {
        return Arrays.stream(cause.getStackTrace()).anyMatch(frame -> frame.getClassName().startsWith(prefix));
    }
}
