package dev.redlock.spring;

import dev.redlock.RedlockContext;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Bindable.BindRestriction;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.DataObjectPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.core.env.Environment;
import org.springframework.util.ReflectionUtils;

/**
 * The properties {@code redlock.*}: one for each method of {@link RedlockContext} with one simple parameter, and user
 * and password. An unknown name is an error, because a mistyped {@code max-ttl} would be unsafe; an unknown environment
 * variable is a warning.
 *
 * @threading immutable
 */
record RedlockProperties(Environment environment, Binder binder, UnknownNames unknown) {

    private static final Logger LOG = System.getLogger("dev.redlock");

    static final Set<Class<?>> TYPES = Set.of(boolean.class, int.class, String.class, String[].class, Duration.class);

    /** The options that connection details replace. */
    private static final Set<String> NODES = Set.of("nodes", "nextNodes");

    RedlockProperties(Environment environment) {
        this(environment, UnknownNames.binder(environment), new UnknownNames());
    }

    static boolean isOption(Method method) {
        Class<?> type = method.getParameterCount() == 1 ? method.getParameterTypes()[0] : Object.class;
        return method.getReturnType() == RedlockContext.class && (TYPES.contains(type) || type.isEnum());
    }

    /** @param areNodesUsed whether the properties name the nodes and their credentials; if not, they have no effect */
    void applyTo(RedlockContext context, boolean areNodesUsed) {
        for (Method method : RedlockContext.class.getMethods()) {
            if (isOption(method)) {
                apply(method, areNodesUsed || !NODES.contains(method.getName()) ? context : new RedlockContext());
            }
        }
        applyCredentialsTo(areNodesUsed ? context : new RedlockContext());
        get("redlock.enabled", Boolean.class);
        get("redlock.locked.order", Integer.class);
        get("redlock.locked.ttl", Duration.class);
        get("redlock.problemdetails.enabled", Boolean.class);
        requireNoneEmpty();
        requireNoneLeft();
        warnOfVariables();
    }

    /** The binder ignores an option whose value is empty, and the name would be an unknown one. */
    private void requireNoneEmpty() {
        if (!unknown.empty().isEmpty()) {
            throw new InvalidConfigurationPropertyValueException(unknown.empty().iterator().next(), "",
                    "it is empty: give a value or remove it");
        }
    }

    /** Fails if a name is left. A value of {@code redlock} itself is ignored: an empty section of a file is one. */
    private void requireNoneLeft() {
        binder.bind("redlock", Bindable.of(Void.class).withBindRestrictions(BindRestriction.NO_DIRECT_PROPERTY),
                unknown);
    }

    private void warnOfVariables() {
        Set<String> variables = unknown.inEnvironment(ConfigurationPropertySources.get(environment));
        if (!variables.isEmpty()) {
            LOG.log(Level.WARNING, "no property of redlock has the name of the environment variables "
                    + String.join(", ", variables) + ": correct those that were meant to set one; ignore this line if"
                    + " only another program or a placeholder uses them");
        }
    }

    private void applyCredentialsTo(RedlockContext context) {
        String username = get("redlock.username", String.class);
        String password = get("redlock.password", String.class);
        if (password != null) {
            context.credentials(address -> DataRedisProperties.credentials(username, password));
        }
        String sentinelUsername = get("redlock.sentinel-username", String.class);
        String sentinelPassword = get("redlock.sentinel-password", String.class);
        if (sentinelPassword != null) {
            context.sentinelCredentials(address -> DataRedisProperties.credentials(sentinelUsername, sentinelPassword));
        }
    }

    /** The values that are set, by name, without secrets. */
    Map<String, Object> shown() {
        Map<String, Object> shown = new TreeMap<>();
        for (Method method : RedlockContext.class.getMethods()) {
            Object value = isOption(method) ? get(nameOf(method), method.getParameterTypes()[0]) : null;
            if (value != null) {
                shown.put(DataObjectPropertyName.toDashedForm(method.getName()), shownValue(value));
            }
        }
        return shown;
    }

    /** Texts of an array are addresses. */
    private static Object shownValue(Object value) {
        return value instanceof String[] texts
                ? Arrays.stream(joined(texts)).map(RedlockProperties::withoutLogin).toList()
                : value.toString();
    }

    /** Restores the addresses with Sentinels, in which commas separate these, for display: the context does it too. */
    private static String[] joined(String[] texts) {
        List<String> addresses = new ArrayList<>();
        boolean isOpen = false;
        for (String text : texts) {
            if (isOpen) {
                int last = addresses.size() - 1;
                addresses.set(last, addresses.get(last) + "," + text);
                isOpen = text.indexOf('/') < 0;
            } else {
                addresses.add(text);
                isOpen = text.matches("rediss?-sentinel://[^/]*");
            }
        }
        return addresses.toArray(String[]::new);
    }

    /** An address without user and password, also if these have special characters or the scheme is missing. */
    static String withoutLogin(String address) {
        return address.replaceFirst("(?s)^([a-z-]+://)?.*@", "$1");
    }

    private static String nameOf(Method option) {
        return "redlock." + DataObjectPropertyName.toDashedForm(option.getName());
    }

    /** A value out of range names its property and its source. Addresses may contain a password, so these do not. */
    private void apply(Method option, RedlockContext context) {
        String name = nameOf(option);
        Object value = get(name, option.getParameterTypes()[0]);
        try {
            if (value != null) {
                ReflectionUtils.invokeMethod(option, context, value);
            }
        } catch (IllegalArgumentException e) {
            throw value instanceof String[]
                    ? e
                    : new InvalidConfigurationPropertyValueException(name, value, e.getMessage());
        }
    }

    private <T> T get(String name, Class<T> type) {
        return binder.bind(name, Bindable.of(type), unknown).orElse(null);
    }
}
