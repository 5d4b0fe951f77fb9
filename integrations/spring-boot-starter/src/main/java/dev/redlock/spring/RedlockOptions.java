package dev.redlock.spring;

import java.util.Map;
import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * The properties {@code redlock.*} that are set, for the endpoint {@code configprops}. It shows beans with this
 * annotation; {@link RedlockProperties} binds the values.
 *
 * @threading immutable
 */
@ConfigurationProperties("redlock")
final class RedlockOptions {

    private final Map<String, Object> options;

    RedlockOptions(Map<String, Object> options) {
        this.options = options;
    }

    /** @return the values by their names; addresses without user and password, and no password */
    public Map<String, Object> getOptions() {
        return options;
    }
}
