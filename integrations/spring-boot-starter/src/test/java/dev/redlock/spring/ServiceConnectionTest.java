package dev.redlock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.redis.testcontainers.RedisContainer;
import dev.redlock.Credentials;
import dev.redlock.NodeStatus;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.lang.reflect.Constructor;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.BeanUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.docker.compose.core.ConnectionPorts;
import org.springframework.boot.docker.compose.core.ImageReference;
import org.springframework.boot.docker.compose.core.RunningService;
import org.springframework.boot.docker.compose.lifecycle.DockerComposeServicesReadyEvent;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.testcontainers.context.ImportTestcontainers;
import org.springframework.boot.testcontainers.lifecycle.TestcontainersLifecycleApplicationContextInitializer;
import org.springframework.boot.testcontainers.service.connection.ServiceConnection;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.util.ClassUtils;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/** Connection details of Testcontainers, Docker Compose and Spring Data Redis, and beans of the application. */
@Timeout(120)
class ServiceConnectionTest {

    private static final String PASSWORD = "s3cr3t";
    /** An address without a server. */
    private static final String NOWHERE = "redlock.nodes=127.0.0.1:1";

    private static RedisNodes open;
    private static RedisNodes closed;

    @BeforeAll
    static void start() {
        open = RequiredNodes.start(Source.PATH, 3);
        closed = RequiredNodes
                .start(new RedisNodesContext().source(Source.PATH).count(1).config("requirepass " + PASSWORD));
        StubContainer.port = portOf(open, 0);
    }

    @AfterAll
    static void end() {
        Stream.of(open, closed).filter(nodes -> nodes != null).forEach(RedisNodes::close);
    }

    private static int portOf(RedisNodes nodes, int index) {
        return nodes.node(index).address().port();
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class App {
    }

    private static ApplicationContextRunner runner(String... properties) {
        return new ApplicationContextRunner().withUserConfiguration(App.class)
                .withPropertyValues("redlock.restart-guard=off", "redlock.connect-timeout=20s",
                        "redlock.node-timeout=1s")
                .withPropertyValues(properties);
    }

    private static List<String> addresses(ApplicationContext context) {
        return context.getBean(Redlock.class).nodes().stream().map(NodeStatus::address).toList();
    }

    private static void lock(ApplicationContext context, String... addresses) throws InterruptedException {
        assertThat(addresses(context)).containsExactly(addresses);
        Redlock redlock = context.getBean(Redlock.class);
        assertThat(redlock.acquire("orders", Duration.ofSeconds(2)).isAcquired()).as(redlock.toString()).isTrue();
    }

    // ---- Testcontainers ---------------------------------------------------------------------------------------------

    static class OfRedis {
        @ServiceConnection
        static StubContainer container = new StubContainer("redis:7");
    }

    static class OfRegistry {
        @ServiceConnection
        static StubContainer container = new StubContainer("registry.example/redis/redis-stack-server:latest");
    }

    static class OfValkey {
        @ServiceConnection
        static StubContainer container = new StubContainer("valkey/valkey:8");
    }

    static class OfClass {
        @ServiceConnection
        static RedisContainer container = new RedisContainer();
    }

    static class OfName {
        @ServiceConnection("redlock")
        static StubContainer container = new StubContainer("example/any:1");
    }

    static class OfType {
        @ServiceConnection(type = RedlockConnectionDetails.class)
        static StubContainer container = new StubContainer("redis:7");
    }

    static class OfImageWithPassword {
        @ServiceConnection
        static StubContainer container = new StubContainer("bitnami/valkey:8").password("VALKEY_PASSWORD");
    }

    static class OfOtherImageWithVariable {
        @ServiceConnection
        static StubContainer container = new StubContainer("redis:7").password("REDIS_PASSWORD");
    }

    private static ApplicationContextRunner withContainers(Class<?>... imports) {
        return runner().withUserConfiguration(imports);
    }

    @ImportTestcontainers(OfRedis.class)
    static class WithRedis {
    }

    @ImportTestcontainers(OfRegistry.class)
    static class WithRegistry {
    }

    @ImportTestcontainers(OfValkey.class)
    static class WithValkey {
    }

    @ImportTestcontainers(OfClass.class)
    static class WithClass {
    }

    @ImportTestcontainers(OfName.class)
    static class WithName {
    }

    @ImportTestcontainers(OfType.class)
    static class WithType {
    }

    @ImportTestcontainers(OfImageWithPassword.class)
    static class WithPassword {
    }

    @ImportTestcontainers(OfOtherImageWithVariable.class)
    static class WithVariable {
    }

    /** The properties of the application, also with another password, have no effect then. */
    @ParameterizedTest
    @ValueSource(classes = {WithRedis.class, WithRegistry.class, WithValkey.class, WithClass.class, WithName.class,
        WithType.class, WithVariable.class})
    void aContainerNamesTheNode(Class<?> containers) {
        withContainers(containers).withPropertyValues(NOWHERE, "redlock.username=app", "redlock.password=wrong",
                "redlock.next-nodes=127.0.0.1:2", "spring.data.redis.url=redis://:wrong@127.0.0.1:3")
                .run(context -> lock(context, "127.0.0.1:" + portOf(open, 0)));
    }

    @Test
    void theImageWithAPasswordInItsEnvironmentIsUsedWithIt() {
        StubContainer.port = portOf(closed, 0);
        try {
            withContainers(WithPassword.class).run(context -> {
                lock(context, "127.0.0.1:" + portOf(closed, 0));
                assertThat(context.getBean(RedlockContext.class).toString()).doesNotContain(PASSWORD);
                assertThat(context.getBean(ServerConnectionDetails.class).asNode().toString())
                        .doesNotContain(PASSWORD);
            });
        } finally {
            StubContainer.port = portOf(open, 0);
        }
    }

    static class ServerAndLocks {
        @ServiceConnection
        static StubContainer aServer = new StubContainer("redis:7") {
            @Override
            public Integer getMappedPort(int inside) {
                return 1;
            }
        };
        @ServiceConnection("redlock")
        static StubContainer locks = new StubContainer("redis:7");
    }

    @ImportTestcontainers(ServerAndLocks.class)
    static class WithServerFirst {
    }

    @ImportTestcontainers({OfName.class, ServerAndLocks.class})
    static class WithNameFirst {
    }

    @ParameterizedTest
    @ValueSource(classes = {WithServerFirst.class, WithNameFirst.class})
    void theContainerForLocksPrecedesOthers(Class<?> containers) {
        withContainers(containers).run(context -> {
            assertThat(context).hasSingleBean(RedlockConnectionDetails.class);
            lock(context, "127.0.0.1:" + portOf(open, 0));
        });
    }

    @Test
    void propertiesWithWrongNamesOrValuesAreErrorsAllTheSame() {
        for (String wrong : List.of("redlock.pasword=x", "redlock.max-ttl=5ms")) {
            withContainers(WithRedis.class).withPropertyValues(wrong)
                    .run(context -> assertThat(context).hasFailed());
        }
    }

    /** The image of the container is that of the other tests on containers. */
    static class Real {
        @ServiceConnection("redis")
        static GenericContainer<?> container = new GenericContainer<>(
                DockerImageName.parse(System.getProperty("trial.nodes.image", "redis:7")))
                .withCommand("redis-server", "--bind", "0.0.0.0", "--protected-mode", "no", "--dir", "/tmp")
                .withExposedPorts(6379)
                // The usual way needs a shell in the image.
                .waitingFor(Wait.forLogMessage(".*Ready to accept connections.*", 1));
    }

    @ImportTestcontainers(Real.class)
    static class WithReal {
    }

    @Test
    void locksInARealContainer() {
        RequiredNodes.start(Source.CONTAINER, 1).close();
        withContainers(WithReal.class).withPropertyValues(NOWHERE)
                .withInitializer(new TestcontainersLifecycleApplicationContextInitializer())
                .run(context -> lock(context,
                        Real.container.getHost() + ":" + Real.container.getMappedPort(6379)));
    }

    // ---- Docker Compose ---------------------------------------------------------------------------------------------

    /**
     * A service that Docker Compose has started.
     *
     * @param connection the label; empty for none
     */
    private record Service(String name, ImageReference image, int port, Map<String, String> env,
            String connection) implements RunningService {

        static Service of(String line) {
            String[] parts = line.split(" ");
            int port = parts[2].equals("closed")
                    ? portOf(closed, 0)
                    : portOf(open, Integer.parseInt(parts[2]));
            return new Service(parts[0], ImageReference.of(parts[1]), port,
                    Map.of("VALKEY_PASSWORD", PASSWORD, "REDIS_PASSWORD", PASSWORD),
                    parts.length > 3 ? parts[3] : "");
        }

        @Override
        public String host() {
            return "127.0.0.1";
        }

        @Override
        public ConnectionPorts ports() {
            return new ConnectionPorts() {
                @Override
                public int get(int inside) {
                    assertThat(inside).isEqualTo(6379);
                    return port;
                }

                @Override
                public List<Integer> getAll() {
                    return List.of(port);
                }

                @Override
                public List<Integer> getAll(String protocol) {
                    return getAll();
                }
            };
        }

        @Override
        public Map<String, String> labels() {
            return connection.isEmpty() ? Map.of() : Map.of("org.springframework.boot.service-connection", connection);
        }
    }

    /** What Spring Boot does when the services run. */
    private static void onReady(ConfigurableApplicationContext context, List<RunningService> services) {
        try {
            Constructor<DockerComposeServicesReadyEvent> event = DockerComposeServicesReadyEvent.class
                    .getDeclaredConstructor(ApplicationContext.class, List.class);
            Constructor<?> listener = Class.forName("org.springframework.boot.docker.compose.service.connection."
                    + "DockerComposeServiceConnectionsApplicationListener").getDeclaredConstructor();
            @SuppressWarnings("unchecked") // it is a listener for this event
            var listening = (ApplicationListener<ApplicationEvent>) BeanUtils.instantiateClass(listener);
            listening.onApplicationEvent(BeanUtils.instantiateClass(event, context, services));
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    /** Each service has a name, an image and a server. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            cache redis:7 0                                                         | 0
            cache redis:7 0,other valkey/valkey:8 1,web nginx:1 2                   | 0,1
            cache redis:7 0,locks example/any 1 redlock                             | 1
            a redis:7 0 redlock,b redis:7 1 redlock,c redis:7 2 redlock             | 0,1,2
            cache registry.example/bitnami/valkey:8 closed                          | closed
            """)
    void servicesNameTheNodes(String services, String expected) {
        List<RunningService> running = Stream.of(services.split(",")).<RunningService>map(Service::of).toList();
        String[] addresses = Stream.of(expected.split(","))
                .map(one -> Service.of("x x " + one))
                .map(service -> "127.0.0.1:" + service.port())
                .toArray(String[]::new);
        runner(NOWHERE, "redlock.password=wrong").withInitializer(context -> onReady(context, running))
                .run(context -> lock(context, addresses));
    }

    // ---- beans of the application -----------------------------------------------------------------------------------

    @Configuration(proxyBeanMethods = false)
    static class ThreeNodes {
        @Bean
        RedlockConnectionDetails nodes() {
            return () -> List.of(open.addresses());
        }
    }

    /** As the details of a vault, which have a password. */
    record WithLogin(List<String> getNodes, String getUsername, String getPassword)
            implements
                RedlockConnectionDetails {
        static WithLogin of(String user, String password, String node) {
            return new WithLogin(List.of(node), user, password);
        }
    }

    @Test
    void aBeanNamesSeveralNodes() {
        runner(NOWHERE).withUserConfiguration(ThreeNodes.class).run(context -> lock(context, open.addresses()));
    }

    @Test
    void theBeanHasCredentialsAndThoseOfACustomizerReplaceThem() {
        String address = "127.0.0.1:" + portOf(closed, 0);
        RedlockConnectionDetails right = WithLogin.of("default", PASSWORD, address);
        runner("redlock.password=wrong").withBean(RedlockConnectionDetails.class, () -> right)
                .run(context -> lock(context, address));
        // An address with a password keeps it.
        RedlockConnectionDetails own = WithLogin.of(null, "wrong", "redis://:" + PASSWORD + "@" + address);
        runner().withBean(RedlockConnectionDetails.class, () -> own).run(context -> lock(context, address));
        RedlockConnectionDetails wrong = WithLogin.of(null, "wrong", "redis://" + address);
        runner().withBean(RedlockConnectionDetails.class, () -> wrong)
                .withBean(RedlockContextCustomizer.class,
                        () -> context -> context.credentials(node -> Credentials.of(PASSWORD.toCharArray())))
                .run(context -> lock(context, address));
    }

    /** A customizer is code too, and runs for each context. */
    @Test
    void theNodesOfACustomizerPrecedeThem() {
        RedlockConnectionDetails unused = () -> List.of("127.0.0.1:1");
        runner().withBean(RedlockConnectionDetails.class, () -> unused)
                .withBean(RedlockContextCustomizer.class, () -> context -> context.nodes(open.addresses()))
                .run(context -> lock(context, open.addresses()));
    }

    @Test
    void detailsWithoutANodeOrWithAWrongOneAreReportedWithoutThePassword() {
        for (RedlockConnectionDetails wrong : List.<RedlockConnectionDetails>of(List::of, () -> null,
                () -> Collections.singletonList(null),
                WithLogin.of(null, "hidden", "host:port"), WithLogin.of("u", "hidden", "unix:///tmp/x"))) {
            assertThatThrownBy(() -> NodeDetails.apply(List.of(wrong), new RedlockContext()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageNotContaining("hidden");
        }
    }

    // ---- Spring Data Redis ------------------------------------------------------------------------------------------

    private static final String BOOT_3 = "org.springframework.boot.autoconfigure.data.redis.RedisConnectionDetails";
    private static final String BOOT_4 = "org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails";

    /** Null if this Spring Boot has neither. */
    private static final Class<?> TYPE = Stream.of(BOOT_3, BOOT_4)
            .filter(type -> ClassUtils.isPresent(type, null))
            .findFirst()
            .<Class<?>>map(type -> ClassUtils.resolveClassName(type, null))
            .orElse(null);

    /** An object with one of two types; its methods without an answer return null. */
    private static Object answering(Class<?> type, Map<String, Object> answers) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[]{type},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "equals" -> proxy == arguments[0];
                    case "hashCode" -> System.identityHashCode(proxy);
                    default -> answers.get(method.getName());
                });
    }

    private static Class<?> nested(String name) {
        return ClassUtils.resolveClassName(TYPE.getName() + "$" + name, null);
    }

    private static Object node(String host, int port) {
        return BeanUtils.instantiateClass(ClassUtils.getConstructorIfAvailable(nested("Node"), String.class, int.class),
                host, port);
    }

    private static Object redis(int port, String password, Map<String, Object> more) {
        Map<String, Object> answers = new HashMap<>(more);
        answers.put("getStandalone",
                answering(nested("Standalone"), Map.of("getHost", "127.0.0.1", "getPort", port)));
        answers.put("getPassword", password);
        return answering(TYPE, answers);
    }

    @SuppressWarnings("unchecked") // the bean has the type
    private static ApplicationContextRunner withRedis(ApplicationContextRunner runner, Object details) {
        return runner.withBean("redis" + System.identityHashCode(details), (Class<Object>) TYPE, () -> details);
    }

    @Test
    void thisSpringBootHasTheExpectedType() {
        assertThat(TYPE == null ? "" : TYPE.getName()).isEqualTo(System.getProperty("redis.expected", BOOT_3));
        runner("redlock.nodes=" + open.addresses()[0])
                .run(context -> assertThat(context.getBeanNamesForType(ApplicationRedis.Source.class))
                        .hasSize(TYPE == null ? 0 : 1));
    }

    @Test
    void theRedisOfTheApplicationIsTheNodeOfAClientWithoutNodes() {
        if (TYPE == null) {
            return; // see above
        }
        Object details = redis(portOf(closed, 0), PASSWORD, Map.of());
        withRedis(runner("spring.data.redis.url=redis://:wrong@127.0.0.1:3"), details)
                .run(context -> lock(context, "127.0.0.1:" + portOf(closed, 0)));
        withRedis(runner("redlock.nodes=" + String.join(",", open.addresses())), details)
                .run(context -> lock(context, open.addresses()));
        // With two of them, that of the locks is not known.
        Object second = redis(2, null, Map.of());
        withRedis(withRedis(runner("spring.data.redis.port=" + portOf(open, 0),
                "spring.data.redis.host=127.0.0.1"), details), second)
                .run(context -> lock(context, "127.0.0.1:" + portOf(open, 0)));
    }

    @Test
    void sentinelsPrecedeAClusterAndAClusterPrecedesAServer() {
        if (TYPE == null) {
            return; // see above
        }
        List<Object> nodes = List.of(node("a", 1), node("::1", 2));
        Object cluster = answering(nested("Cluster"), Map.of("getNodes", nodes));
        Object sentinel = answering(nested("Sentinel"), Map.of("getNodes", nodes, "getMaster", "m", "getUsername", "w",
                "getPassword", "hidden"));
        assertThat(contextWith(redis(1, "hidden", Map.of("getSentinel", sentinel, "getCluster", cluster))))
                .contains("nodes=[redis-sentinel://a:1,[::1]:2/m],");
        assertThat(contextWith(redis(1, "hidden", Map.of("getCluster", cluster))))
                .contains("nodes=[redis-cluster://a:1,[::1]:2],");
        assertThat(contextWith(redis(1, "hidden", Map.of()))).contains("nodes=[127.0.0.1:1],");
    }

    /** The options, without a connection. */
    private static String contextWith(Object redis) {
        StringBuilder text = new StringBuilder();
        withRedis(new ApplicationContextRunner(), redis)
                .withConfiguration(AutoConfigurations.of(RedlockConnectionAutoConfiguration.class))
                .run(context -> {
                    ConfigurableListableBeanFactory beans = context.getSourceApplicationContext().getBeanFactory();
                    text.append(new RedlockAutoConfiguration().redlockContext(context.getEnvironment(),
                            beans.getBeanProvider(RedlockContextCustomizer.class), beans));
                });
        assertThat(text.toString()).doesNotContain("hidden");
        return text.toString();
    }

    /** Spring Boot has such a bean whenever Spring Data Redis is there: it repeats the properties. */
    @Test
    void theBeanOfThePropertiesDoesNotCount() {
        if (TYPE == null) {
            return; // see above
        }
        String name = ClassUtils.getPackageName(TYPE) + ".Properties" + TYPE.getSimpleName();
        Constructor<?> constructor = ClassUtils.resolveClassName(name, null).getDeclaredConstructors()[0];
        Object ofProperties = BeanUtils.instantiateClass(constructor,
                BeanUtils.instantiateClass(constructor.getParameterTypes()[0]), null);
        withRedis(runner("spring.data.redis.host=127.0.0.1", "spring.data.redis.port=" + portOf(open, 0)),
                ofProperties).run(context -> lock(context, "127.0.0.1:" + portOf(open, 0)));
    }
}
