package dev.redlock.spring;

import dev.redlock.RedlockContext;
import java.util.Arrays;
import org.springframework.boot.context.properties.bind.UnboundConfigurationPropertiesException;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.util.StringUtils;

/**
 * Names the fix if the application cannot start because of its Netty or of its options. It precedes the analyzers of
 * Spring Boot, which show the value of an unknown property: it may be a password with a mistyped name.
 *
 * @threading immutable
 */
@Order(Ordered.HIGHEST_PRECEDENCE)
final class RedlockFailureAnalyzer implements FailureAnalyzer {

    @Override
    public FailureAnalysis analyze(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            String message = String.valueOf(cause.getMessage());
            if (cause instanceof IllegalStateException && message.startsWith("redlock needs Netty")) {
                String[] parts = message.split(": ", 2);
                return new FailureAnalysis(parts[0], StringUtils.capitalize(parts[1]), cause);
            }
            if (cause instanceof InvalidLockedException invalid) {
                return new FailureAnalysis(message, StringUtils.capitalize(invalid.action()) + ".", cause);
            }
            if (cause instanceof UnboundConfigurationPropertiesException && message.contains("redlock.")
                    || cause instanceof IllegalArgumentException && isFromOptions(cause)) {
                return new FailureAnalysis("The options of redlock are invalid: " + message,
                        "Correct the properties redlock.*; a RedlockContextCustomizer sets all other options.", cause);
            }
        }
        return null;
    }

    private static boolean isFromOptions(Throwable cause) {
        return Arrays.stream(cause.getStackTrace())
                .anyMatch(frame -> frame.getClassName().equals(RedlockContext.class.getName()));
    }
}
