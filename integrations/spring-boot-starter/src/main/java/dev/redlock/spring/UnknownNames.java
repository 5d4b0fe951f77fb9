package dev.redlock.spring;

import dev.redlock.resp.SafeText;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.springframework.boot.context.properties.bind.BindContext;
import org.springframework.boot.context.properties.bind.BindHandler;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.PropertySourcesPlaceholdersResolver;
import org.springframework.boot.context.properties.bind.handler.NoUnboundElementsBindHandler;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.IterableConfigurationPropertySource;
import org.springframework.core.env.Environment;
import org.springframework.core.env.SystemEnvironmentPropertySource;

/**
 * Finds names {@code redlock.*} that nothing binds. They are errors in each source of properties but the environment:
 * variables with such names may belong to Kubernetes or to other programs, so these are only listed.
 *
 * @threading caller-confined
 */
final class UnknownNames extends NoUnboundElementsBindHandler {

    private static final ConfigurationPropertyName ROOT = ConfigurationPropertyName.of("redlock");

    /** Kubernetes sets them in each container for each service, such as one with the name redlock. */
    private static final Pattern OF_KUBERNETES = Pattern.compile("REDLOCK(_.+)?_(SERVICE_HOST|SERVICE_PORT(_.+)?"
            + "|PORT(_\\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)");

    /** The command line program of redlock reads them. Its other variables have names of properties. */
    private static final Set<String> OF_PROGRAM = Set.of("REDLOCK_SENTINEL_USER", "REDLOCK_TLS_KEY_PASSWORD");

    private final Set<ConfigurationPropertyName> names = new HashSet<>();
    private final Set<ConfigurationPropertyName> lists = new HashSet<>();
    private final Set<String> empty = new TreeSet<>();

    UnknownNames() {
        super(BindHandler.DEFAULT, source -> !isEnvironment(source));
    }

    /**
     * Binds properties without variables such as {@code REDLOCK_NODES_0_SERVICE_HOST}. Kubernetes sets them for a
     * service with the name redlock-nodes-0, and Spring Boot would reject the list {@code redlock.nodes} for them.
     */
    static Binder binder(Environment environment) {
        List<ConfigurationPropertySource> sources = new ArrayList<>();
        for (ConfigurationPropertySource source : ConfigurationPropertySources.get(environment)) {
            sources.add(isEnvironment(source) ? source.filter(UnknownNames::mayBeOption) : source);
        }
        return new Binder(sources, new PropertySourcesPlaceholdersResolver(environment));
    }

    /** The elements of lists are simple values. */
    private static boolean mayBeOption(ConfigurationPropertyName name) {
        return IntStream.range(1, name.getNumberOfElements() - 1).noneMatch(name::isNumericIndex);
    }

    private static boolean isEnvironment(ConfigurationPropertySource source) {
        return source.getUnderlyingSource() instanceof SystemEnvironmentPropertySource;
    }

    @Override
    public <T> Bindable<T> onStart(ConfigurationPropertyName name, Bindable<T> target, BindContext context) {
        names.add(name);
        if (target.getType().isArray()) {
            lists.add(name);
        }
        return super.onStart(name, target, context);
    }

    @Override
    public void onFinish(ConfigurationPropertyName name, Bindable<?> target, BindContext context, Object result)
            throws Exception {
        ConfigurationProperty found = context.getConfigurationProperty();
        if (result == null && found != null && found.getName().equals(name)) {
            empty.add(name.toString());
        }
        super.onFinish(name, target, context, result);
    }

    /** @return the names with an empty value that the binder converted to null, in order */
    Set<String> empty() {
        return empty;
    }

    /** @return the environment variables whose names nothing has bound so far, without their values, in order */
    Set<String> inEnvironment(Iterable<ConfigurationPropertySource> sources) {
        Set<String> unknown = new TreeSet<>();
        for (ConfigurationPropertySource source : sources) {
            if (isEnvironment(source)) {
                addUnknown((SystemEnvironmentPropertySource) source.getUnderlyingSource(), unknown);
            }
        }
        return unknown;
    }

    private void addUnknown(SystemEnvironmentPropertySource environment, Set<String> unknown) {
        for (String variable : environment.getPropertyNames()) {
            if (variable.toLowerCase(Locale.ROOT).startsWith("redlock") && !OF_KUBERNETES.matcher(variable).matches()
                    && !OF_PROGRAM.contains(variable) && isUnknown(variable, environment.getName())) {
                unknown.add(SafeText.of(variable));
            }
        }
    }

    /** Spring Boot maps several forms of a variable to a name, so a source with this variable alone does that. */
    private boolean isUnknown(String variable, String sourceName) {
        boolean isOption = false;
        ConfigurationPropertySource alone = ConfigurationPropertySource
                .from(new SystemEnvironmentPropertySource(sourceName, Map.of(variable, "")));
        for (ConfigurationPropertyName name : (IterableConfigurationPropertySource) alone) {
            isOption |= ROOT.isAncestorOf(name);
            if (isElement(name)) {
                return false;
            }
        }
        return isOption && names.stream().allMatch(name -> alone.getConfigurationProperty(name) == null);
    }

    private boolean isElement(ConfigurationPropertyName name) {
        return name.isLastElementIndexed() && name.isNumericIndex(name.getNumberOfElements() - 1)
                && lists.contains(name.getParent());
    }
}
