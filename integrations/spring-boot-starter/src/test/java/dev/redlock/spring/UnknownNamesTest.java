package dev.redlock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.redlock.RedlockContext;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.boot.context.properties.bind.UnboundConfigurationPropertiesException;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.MutablePropertySources;
import org.springframework.core.env.PropertiesPropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;

/** Names {@code redlock.*} that no option has, in each place of an application. */
class UnknownNamesTest {

    /** A field, because a logger without references loses its handler. */
    private static final Logger LOG = Logger.getLogger("dev.redlock");

    private final List<String> warnings = new CopyOnWriteArrayList<>();
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord line) {
            if (line.getLevel() == Level.WARNING) {
                warnings.add(line.getMessage());
            }
        }

        @Override
        public void flush() {
            // Nothing is buffered.
        }

        @Override
        public void close() {
            // There is nothing to close.
        }
    };

    @BeforeEach
    void listen() {
        LOG.addHandler(handler);
    }

    @AfterEach
    void leave() {
        LOG.removeHandler(handler);
    }

    private static PropertySource<?> variables(String... assignments) {
        return new SystemEnvironmentPropertySource(StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME,
                Map.copyOf(properties(assignments)));
    }

    private static PropertySource<?> systemProperties(String... assignments) {
        Properties properties = new Properties();
        properties.putAll(properties(assignments));
        return new PropertiesPropertySource(StandardEnvironment.SYSTEM_PROPERTIES_PROPERTY_SOURCE_NAME, properties);
    }

    private static Map<String, Object> properties(String... assignments) {
        Map<String, Object> properties = new HashMap<>();
        for (String assignment : assignments) {
            int equals = assignment.indexOf('=');
            properties.put(assignment.substring(0, equals), assignment.substring(equals + 1));
        }
        return properties;
    }

    /** @param first has the highest precedence */
    private static RedlockContext context(PropertySource<?> first, PropertySource<?>... others) {
        StandardEnvironment environment = new StandardEnvironment();
        MutablePropertySources sources = environment.getPropertySources();
        sources.stream().map(PropertySource::getName).toList().forEach(sources::remove);
        sources.addLast(first);
        for (PropertySource<?> other : others) {
            sources.addLast(other);
        }
        DefaultListableBeanFactory beans = new DefaultListableBeanFactory();
        return new RedlockAutoConfiguration().redlockContext(environment,
                beans.getBeanProvider(RedlockContextCustomizer.class), beans);
    }

    @Test
    void anUnknownSystemPropertyIsAnErrorAsInAFile() {
        String assignment = "redlock.max-tttl=30s";
        for (PropertySource<?> source : List.of(systemProperties(assignment),
                new MapPropertySource("application.properties", properties(assignment)))) {
            assertThatThrownBy(() -> context(source)).as(source.getName())
                    .rootCause()
                    .isInstanceOf(UnboundConfigurationPropertiesException.class)
                    .hasMessageContaining("redlock.max-tttl")
                    .hasMessageNotContaining("30s");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"redlock.max-ttl", "redlock.maxTtl", "redlock.max_ttl", "redlock.MAX-TTL"})
    void aSystemPropertyMayHaveEachFormOfAName(String name) {
        assertThat(context(systemProperties(name + "=30s")).toString()).contains("maxTtlMs=30000");
    }

    @ParameterizedTest
    @ValueSource(strings = {"REDLOCK_MAX_TTTL", "REDLOCK_MAX__TTL", "REDLOCK_MAXTTL_0", "REDLOCK_NODES_FIRST",
        "REDLOCK_USER", "REDLOCK_NODES_0_HOST", "redlock.max-tttl", "REDLOCK_PORTS", "REDLOCK_SERVICES_HOST"})
    void anUnknownVariableIsAWarningWithItsNameAndWithoutItsValue(String name) {
        assertThat(context(variables(name + "=hidden")).toString()).contains("maxTtlMs=60000");
        assertThat(warnings).singleElement()
                .asString()
                .contains(" " + name + ": ")
                .doesNotContain("hidden");
    }

    @Test
    void allUnknownVariablesAreInOneLine() {
        context(variables("REDLOCK_MAX_TTTL=30s", "REDLOCK_MAX_TTL=30s", "REDLOCK_A=b", "PATH=/bin"));
        assertThat(warnings).containsExactly("no property of redlock has the name of the environment variables"
                + " REDLOCK_A, REDLOCK_MAX_TTTL: correct those that were meant to set one; ignore this line if only"
                + " another program or a placeholder uses them");
    }

    @Test
    void aVariableThatAPlaceholderUsesIsNotCalledUseless() {
        assertThat(context(variables("REDLOCK_HOSTS=a:1"),
                new MapPropertySource("application.yaml", properties("redlock.nodes=${REDLOCK_HOSTS:b:2}")))
                .toString()).contains("nodes=[a:1]");
        assertThat(warnings).singleElement()
                .asString()
                .contains(" REDLOCK_HOSTS: ", " a placeholder ")
                .doesNotContain("effect", "remove");
    }

    /** They configure another program, which may run in the same container. */
    @Test
    void variablesOfTheCommandLineProgramAreNoWarning() {
        context(variables("REDLOCK_NODES=a:1", "REDLOCK_SENTINEL_USER=u", "REDLOCK_SENTINEL_PASSWORD=p",
                "REDLOCK_TLS_KEY_PASSWORD=p"));
        assertThat(warnings).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"REDLOCK_MAXTTL", "REDLOCK_MAX_TTL", "redlock.max-ttl", "redlock_maxttl"})
    void aVariableMayHaveEachFormOfAName(String name) {
        assertThat(context(variables(name + "=30s")).toString()).contains("maxTtlMs=30000");
        assertThat(warnings).isEmpty();
    }

    /** Names that the starter reads elsewhere, elements of a list, and a list that another source replaces. */
    @Test
    void variablesOfAllPropertiesAreKnown() {
        String[] all = {"REDLOCK_NODES_0=a:1", "REDLOCK_NODES_1=b:2", "REDLOCK_LOCKED_TTL=5s", "REDLOCK_LOCKED_ORDER=1",
            "REDLOCK_ENABLED=true", "REDLOCK_PROBLEMDETAILS_ENABLED=true", "REDLOCK_USERNAME=u",
            "REDLOCK_PASSWORD=p", "REDLOCK_SENTINEL_USERNAME=u", "REDLOCK_SENTINEL_PASSWORD=p"};
        assertThat(context(variables(all)).toString()).contains("nodes=[a:1, b:2]");
        assertThat(context(systemProperties("redlock.nodes=c:3"), variables(all)).toString()).contains("nodes=[c:3]");
        assertThat(warnings).isEmpty();
    }

    /** Kubernetes sets them in each container if a service has the name redlock or one that starts with it. */
    @ParameterizedTest
    @ValueSource(strings = {"REDLOCK_SERVICE_HOST", "REDLOCK_SERVICE_PORT", "REDLOCK_SERVICE_PORT_REDIS",
        "REDLOCK_PORT", "REDLOCK_PORT_6379_TCP", "REDLOCK_PORT_6379_TCP_PROTO", "REDLOCK_PORT_6379_TCP_PORT",
        "REDLOCK_PORT_6379_TCP_ADDR", "REDLOCK_PORT_53_UDP_ADDR", "REDLOCK_NODE_1_SERVICE_HOST",
        "REDLOCK_NODE_1_PORT_6379_TCP", "REDLOCK_NODES_SERVICE_HOST", "REDLOCK_NODES_PORT"})
    void variablesOfServicesInKubernetesAreNoWarning(String name) {
        context(variables(name + "=10.0.0.1"));
        assertThat(warnings).isEmpty();
    }

    /** A service for each node, with a name such as redlock-nodes-0. */
    @Test
    void variablesOfServicesWithNamesLikeElementsOfAListAreNoElements() {
        String[] ofServices = {"REDLOCK_NODES_0_SERVICE_HOST=10.0.0.1", "REDLOCK_NODES_0_SERVICE_PORT=6379",
            "REDLOCK_NODES_0_PORT=tcp://10.0.0.1:6379", "REDLOCK_NODES_0_PORT_6379_TCP=tcp://10.0.0.1:6379",
            "REDLOCK_NODES_0_PORT_6379_TCP_ADDR=10.0.0.1", "REDLOCK_NODES_1_SERVICE_HOST=10.0.0.2"};
        PropertySource<?> file = new MapPropertySource("application.properties", properties("redlock.nodes=a:1,b:2"));
        assertThat(context(variables(ofServices)).toString()).contains("nodes=[]");
        assertThat(context(variables(ofServices), file).toString()).contains("nodes=[a:1, b:2]");
        String[] all = Stream.concat(Stream.of("REDLOCK_NODES_0=c:3", "REDLOCK_NODES_1=d:4"), Stream.of(ofServices))
                .toArray(String[]::new);
        assertThat(context(variables(all), file).toString()).contains("nodes=[c:3, d:4]");
        assertThat(warnings).isEmpty();
    }

    /** An empty section of a file, a variable or a system property with the name of the whole. */
    @Test
    void aValueOfTheNameOfAllPropertiesIsIgnored() {
        assertThat(context(variables("REDLOCK=hidden", "REDLOCK_MAX_TTL=30s")).toString()).contains("maxTtlMs=30000");
        assertThat(context(systemProperties("redlock=hidden")).toString()).contains("maxTtlMs=60000");
        assertThat(context(new MapPropertySource("application.yaml", properties("redlock="))).toString())
                .contains("maxTtlMs=60000");
        assertThat(warnings).isEmpty();
        assertThatThrownBy(() -> context(variables("REDLOCK=hidden"),
                new MapPropertySource("application.yaml", properties("redlock=", "redlock.max-tttl=30s"))))
                .rootCause()
                .isInstanceOf(UnboundConfigurationPropertiesException.class)
                .hasMessageContaining("redlock.max-tttl");
    }

    /** Else the client would have the default, or the report would call the name unknown. */
    @ParameterizedTest
    @ValueSource(strings = {"max-ttl", "transport", "restart-guard", "enabled", "locked.ttl",
        "locked.order", "problemdetails.enabled"})
    void anEmptyValueIsAnError(String option) {
        String name = "redlock." + option;
        PropertySource<?> file = new MapPropertySource("application.properties", properties(name + "=${ORDERS_A:}"));
        String variable = name.replace("-", "").replace('.', '_').toUpperCase(Locale.ROOT) + "=";
        for (PropertySource<?> source : List.of(systemProperties(name + "="), file, variables(variable))) {
            assertEmptyIsReported(name, () -> context(source));
        }
    }

    @Test
    void anEmptyVariableDoesNotHideTheValueOfAFile() {
        assertEmptyIsReported("redlock.max-ttl", () -> context(variables("REDLOCK_MAX_TTL="),
                new MapPropertySource("application.properties", properties("redlock.max-ttl=10m"))));
    }

    private static void assertEmptyIsReported(String name, ThrowingCallable start) {
        assertThatThrownBy(start).isInstanceOf(InvalidConfigurationPropertyValueException.class)
                .hasMessageContaining(name)
                .hasMessageContaining("it is empty: give a value or remove it");
    }

    @Test
    void textsAndListsMayBeEmpty() {
        assertThat(context(variables("REDLOCK_PASSWORD=", "REDLOCK_KEY_PREFIX=", "REDLOCK_NEXT_NODES="))).isNotNull();
    }
}
