package dev.redlock.spring;

import org.springframework.boot.actuate.endpoint.SanitizingFunction;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;

/**
 * Hides the passwords among the properties. It has no condition on the client: the properties also exist while the
 * client is switched off, and with several clients.
 *
 * @threading immutable
 */
@AutoConfiguration
// A name, as in RedlockEndpointAutoConfiguration.
@ConditionalOnClass(name = "org.springframework.boot.actuate.endpoint.SanitizingFunction")
class RedlockSanitizingAutoConfiguration {

    /** For the endpoints {@code env} and {@code configprops}, also if they are to show all values. */
    @Bean
    SanitizingFunction redlockSanitizingFunction() {
        return data -> {
            // Environment variables have capitals and underscores.
            String key = data.getLowerCaseKey().replaceAll("[^a-z]", "");
            boolean isAddress = key.startsWith("redlocknodes") || key.startsWith("redlocknextnodes");
            boolean isSecret = key.startsWith("redlockpassword") || key.startsWith("redlocksentinelpassword")
                    || isAddress && String.valueOf(data.getValue()).contains("@");
            return isSecret ? data.withSanitizedValue() : data;
        };
    }
}
