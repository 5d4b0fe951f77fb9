package dev.redlock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.redlock.AcquireOptions;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseOutcome;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.micrometer.RedlockMetrics;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.io.File;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootVersion;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.context.properties.bind.UnboundConfigurationPropertiesException;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalysisReporter;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * The starter in an application with the whole auto-configuration, on real nodes. The classes run on Spring Boot 3.5
 * here, and without being compiled again on Spring Boot 4.0 and 4.1 in samples/spring-boot.
 */
@Timeout(60)
class RedlockStarterTest {

    private static final Duration TTL = Duration.ofSeconds(2);

    private static final String AWAIT = "spring.task.scheduling.shutdown.await-termination=true"
            + " spring.task.scheduling.shutdown.await-termination-period=30s"
            + " spring.task.execution.shutdown.await-termination=true"
            + " spring.task.execution.shutdown.await-termination-period=30s";

    /** The endpoint for properties needs one to show their values. */
    private static final boolean HAS_JACKSON = Stream.of("tools.jackson", "com.fasterxml.jackson")
            .anyMatch(name -> ClassUtils.isPresent(name + ".databind.ObjectMapper", null));

    private static final String CLASS_PATH = System.getProperty("surefire.test.class.path",
            System.getProperty("java.class.path"));

    private static RedisNodes nodes;

    @BeforeAll
    static void start() {
        nodes = RequiredNodes.start(Source.PATH, 3);
    }

    @AfterAll
    static void end() {
        if (nodes != null) {
            nodes.close();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class App {
    }

    @Configuration(proxyBeanMethods = false)
    static class ShortNames {
        @Bean
        RedlockContextCustomizer shortNames() {
            return context -> context.resourceLengthMax(20);
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class OwnClient {
        @Bean
        Redlock own() {
            return Redlock.connect(context().nodes(nodes.addresses()).keyPrefix("own:"));
        }
    }

    /** Gets what Spring Boot prints if the application cannot start. */
    static final class Reports implements FailureAnalysisReporter {
        private static FailureAnalysis last;

        @Override
        public void report(FailureAnalysis analysis) {
            last = analysis;
        }
    }

    private static ApplicationContextRunner runner(String... properties) {
        return new ApplicationContextRunner().withUserConfiguration(App.class)
                .withPropertyValues("redlock.nodes=" + String.join(",", nodes.addresses()), "redlock.restart-guard=off",
                        "redlock.connect-timeout=20s", "redlock.node-timeout=1s")
                .withPropertyValues(properties);
    }

    /** Clients with other prefixes come before, so that the nodes are no fresh group. */
    private static RedlockContext context() {
        return new RedlockContext().restartGuard(RestartGuardMode.OFF)
                .connectTimeout(Duration.ofSeconds(20))
                .nodeTimeout(Duration.ofSeconds(1));
    }

    private static Redlock other(String prefix) {
        return Redlock.connect(context().nodes(nodes.addresses()).keyPrefix(prefix));
    }

    @Test
    void thisIsTheExpectedSpringBootAndTransport() {
        runner().run(context -> {
            assertThat(SpringBootVersion.getVersion()).startsWith(System.getProperty("spring-boot.expected", "3.5."));
            assertThat(context.getBean(Redlock.class).transportDescription())
                    .startsWith(System.getProperty("transport.expected", ""));
        });
    }

    @Test
    void locksWithTheOptionsOfThePropertiesAndOfACustomizer() {
        runner("redlock.key-prefix=shop:", "redlock.max-ttl=3s", "redlock.client-name=shop-1",
                "redlock.transport=nio", "redlock.event-loops=2").withUserConfiguration(ShortNames.class)
                .run(context -> {
                    Redlock redlock = context.getBean(Redlock.class);
                    try (Redlock other = other("")) {
                        AcquireOutcome outcome = redlock.acquire("orders/1", TTL);
                        assertThat(outcome.isAcquired()).isTrue();
                        assertThat(other.tryAcquire("shop:orders/1", TTL).isAcquired()).isFalse();
                        outcome.lease().close();
                    }
                    assertThat(redlock.transportDescription()).startsWith("NIO");
                    assertThat(nodes.node(0).call("CLIENT", "LIST").toString()).contains("name=shop-1 ");
                    assertThatThrownBy(() -> redlock.tryAcquire("orders/1", Duration.ofSeconds(4)))
                            .hasMessageContaining("3000 ms");
                    assertThatThrownBy(() -> redlock.tryAcquire("orders/12345678901234567890", TTL))
                            .isInstanceOf(IllegalArgumentException.class);
                });
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            redlock.max-ttl=5ms               | redlock.max-ttl           | 100 to 86400000 ms
            redlock.transport=carrier-pigeon  | redlock.transport         | carrier-pigeon
            redlock.pasword=hidden            | redlock.pasword           | RedlockContextCustomizer
            redlock.nodes=redis://:hidden@h:x | options of redlock        | redlock.*
            redlock.in-flight-max=0           | redlock.in-flight-max     | 1 to 4194304
            redlock.nodes=                    | at least one address      | redlock.*
            redlock.node-timeout=61s          | redlock.node-timeout      | 61000 is out
            redlock.max-ttl=                  | redlock.max-ttl           | it is empty: give a value
            """)
    void aWrongPropertyIsReportedWithoutPasswords(String property, String description, String more) {
        assertThatThrownBy(() -> SpringApplication.run(App.class, "--" + property)).satisfies(thrown -> {
            for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
                assertThat(String.valueOf(cause.getMessage())).doesNotContain("hidden");
            }
        });
        String report = Reports.last.getDescription() + "\n" + Reports.last.getAction();
        assertThat(report).contains(description, more).doesNotContain("hidden");
    }

    @Test
    void anUnknownSystemPropertyIsAnErrorAsInAFile() {
        runner().withSystemProperties("redlock.max-tttl=30s")
                .run(context -> assertThat(context).getFailure()
                        .rootCause()
                        .isInstanceOf(UnboundConfigurationPropertiesException.class)
                        .hasMessageContaining("redlock.max-tttl"));
    }

    @Test
    void healthIsDownWithoutAQuorumAndLivenessIsNotTouched() throws Exception {
        try (RedisNodes own = RequiredNodes.start(Source.PATH, 3);
                ConfigurableApplicationContext application = SpringApplication.run(App.class,
                        "--redlock.nodes=" + String.join(",", own.addresses()),
                        "--redlock.restart-guard=off", "--management.endpoint.health.probes.enabled=true")) {
            await(() -> details(application).contains("degraded=false, toleratedFailures=1"));
            assertThat(health(application)).isEqualTo("UP");
            own.node(0).kill();
            await(() -> details(application).contains("degraded=true, toleratedFailures=0"));
            assertThat(health(application)).isEqualTo("UP");
            own.node(1).kill();
            await(() -> health(application).equals("DOWN"));
            assertThat(health(application, "liveness")).isEqualTo("UP");
            assertThat(health(application, "readiness")).isEqualTo("UP");
            assertThat(details(application)).contains("DOWN", own.addresses()[0], "READY", "transport",
                    "toleratedFailures=-1");
            own.node(1).start();
            await(() -> health(application).equals("UP"));
        }
    }

    /** Two clients, of which one has no server. The other one may be primary. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void theHealthAndTheMetersAreThoseOfEachClient(boolean isPrimary) {
        runner("management.endpoints.web.exposure.include=*").withBean("orders", Redlock.class, () -> other("two:"),
                definition -> definition.setPrimary(isPrimary))
                .withBean("stock", Redlock.class, () -> Redlock.connect("127.0.0.1:1"))
                .run(context -> {
                    assertThat(context).hasNotFailed().doesNotHaveBean("redlockHealthIndicator");
                    await(() -> health(context, "redlock", "orders").equals("UP"));
                    assertThat(health(context, "redlock", "stock")).isEqualTo("DOWN");
                    assertThat(health(context, "redlock")).isEqualTo("DOWN");
                    assertThat(health(context)).isEqualTo("DOWN");
                    MeterRegistry registry = context.getBean(MeterRegistry.class);
                    assertThat(registry.get("redlock.failures.tolerated").tag("client", "orders").gauge().value())
                            .isOne();
                    assertThat(registry.get("redlock.failures.tolerated").tag("client", "stock").gauge().value())
                            .isEqualTo(-1);
                    assertThat(context.getBeanNamesForType(RedlockEndpoint.class)).hasSize(isPrimary ? 1 : 0);
                });
    }

    @Test
    void ownMetersAndAnOwnHealthReplaceThoseOfSeveralClients() {
        try (Redlock measured = other("four:")) {
            runner().withBean("orders", Redlock.class, () -> other("two:"))
                    .withBean("stock", Redlock.class, () -> other("three:"))
                    .withBean("redlockHealthIndicator", String.class, () -> "own")
                    .withBean(RedlockMetrics.class, () -> new RedlockMetrics(measured))
                    .run(context -> assertThat(context).hasNotFailed()
                            .doesNotHaveBean("redlockHealthContributor")
                            .doesNotHaveBean("redlockMetricsOfClients"));
        }
    }

    /** The first event loop has the locks of this resource, so it alone sees the errors of a node. */
    @Test
    void theHealthShowsTheProblemOfEachEventLoop() throws Exception {
        try (RedisNodes own = RequiredNodes.start(Source.PATH, 3);
                ConfigurableApplicationContext application = SpringApplication.run(App.class,
                        "--redlock.nodes=" + String.join(",", own.addresses()), "--redlock.restart-guard=off",
                        "--redlock.event-loops=2")) {
            Redlock redlock = application.getBean(Redlock.class);
            await(() -> details(application).contains("degraded=false"));
            own.node(0).call("CONFIG", "SET", "min-replicas-to-write", "1");
            await(() -> {
                AcquireOutcome outcome = redlock.acquireAsync("stock", AcquireOptions.ofTtl(TTL).tryOnce())
                        .toCompletableFuture()
                        .join();
                outcome.lease().releaseAsync().toCompletableFuture().join();
                return redlock.nodes().stream().anyMatch(node -> node.problem() != null);
            });
            assertThat(redlock.nodes()).filteredOn(node -> node.problem() != null).hasSize(1);
            assertThat(details(application)).contains("NOREPLICAS");
        }
    }

    private static String details(ApplicationContext context) {
        return invoke(context.getBean("redlockHealthIndicator"), "health").toString();
    }

    /** The endpoint has one name and two packages. */
    private static String health(ApplicationContext context, String... path) {
        Object endpoint = context.getBean("healthEndpoint");
        Object health = path.length == 0
                ? invoke(endpoint, "health")
                : invoke(endpoint, "healthForPath", (Object) path);
        return invoke(invoke(health, "getStatus"), "getCode").toString();
    }

    private static Object invoke(Object target, String method, Object... arguments) {
        Class<?>[] types = Arrays.stream(arguments).map(Object::getClass).toArray(Class<?>[]::new);
        var found = ReflectionUtils.findMethod(target.getClass(), method, types);
        ReflectionUtils.makeAccessible(found);
        return ReflectionUtils.invokeMethod(found, target, arguments);
    }

    private static void await(BooleanSupplier condition) throws InterruptedException {
        long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - deadlineNs).isNegative();
            new CountDownLatch(1).await(5, TimeUnit.MILLISECONDS);
        }
    }

    /** Also if they show values, with a password as a property and in an address. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            redis://app:hidden@ | redlock.client-name=shop
            ''                  | redlock.password=hidden
            """)
    void theEndpointsShowThePropertiesWithoutPasswords(String login, String property) {
        String addresses = Arrays.stream(nodes.addresses()).map(login::concat).collect(Collectors.joining(","));
        new ApplicationContextRunner().withUserConfiguration(App.class)
                .withPropertyValues("management.endpoints.web.exposure.include=*",
                        "management.endpoint.configprops.show-values=always",
                        "management.endpoint.env.show-values=always", "redlock.max-ttl=30s", "redlock.transport=nio",
                        "redlock.nodes=" + addresses, property)
                .run(context -> {
                    String shown = configurationProperties(context);
                    assertThat(shown).contains("redlockOptions").doesNotContain("hidden");
                    if (HAS_JACKSON) {
                        assertThat(shown).contains("max-ttl=PT30S", "transport=NIO", nodes.addresses()[0]);
                    }
                    assertThat(environment(context)).contains("redlock.nodes", "redlock.max-ttl=30s")
                            .doesNotContain("hidden");
                });
    }

    /** The properties are there also if no client uses them. */
    @ParameterizedTest
    @CsvSource({"false, 0", "true, 2"})
    void theEndpointsHidePasswordsWithoutAClientAndWithTwo(boolean isEnabled, int clientCount) {
        ApplicationContextRunner application = new ApplicationContextRunner().withUserConfiguration(App.class)
                .withPropertyValues("management.endpoints.web.exposure.include=*",
                        "management.endpoint.env.show-values=always", "redlock.enabled=" + isEnabled,
                        "redlock.nodes=redis://app:hidden@node-1:6379", "redlock.next-nodes=app:hidden@node-1:6379",
                        "redlock.password=hidden", "redlock.sentinel-password=hidden", "redlock.client-name=shop");
        for (int i = 0; i < clientCount; i++) {
            application = application.withBean("client" + i, Redlock.class, () -> other("two:"));
        }
        application.run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(context.getBeansOfType(Redlock.class)).hasSize(clientCount);
            assertThat(environment(context)).contains("redlock.password", "redlock.client-name=shop")
                    .doesNotContain("hidden");
        });
    }

    /** With a client of its own, the application starts with an address that is none. */
    @Test
    void anAddressWithoutASchemeIsShownWithoutItsPassword() {
        runner("management.endpoints.web.exposure.include=*", "management.endpoint.configprops.show-values=always",
                "redlock.nodes=app:hidden@node-1:6379").withUserConfiguration(OwnClient.class).run(context -> {
                    String shown = configurationProperties(context);
                    assertThat(shown).contains("redlockOptions").doesNotContain("hidden");
                });
    }

    private static String configurationProperties(ApplicationContext context) {
        StringBuilder text = new StringBuilder();
        Object report = invoke(context.getBean("configurationPropertiesReportEndpoint"), "configurationProperties");
        for (Object one : ((Map<?, ?>) invoke(report, "getContexts")).values()) {
            ((Map<?, ?>) invoke(one, "getBeans")).forEach((name, bean) -> text.append(name)
                    .append(invoke(bean, "getProperties"))
                    .append(invoke(bean, "getInputs")));
        }
        return text.toString();
    }

    private static String environment(ApplicationContext context) {
        StringBuilder text = new StringBuilder();
        Object report = invoke(context.getBean("environmentEndpoint"), "environment", "redlock.*");
        for (Object source : (List<?>) invoke(report, "getPropertySources")) {
            ((Map<?, ?>) invoke(source, "getProperties"))
                    .forEach((name, value) -> text.append(name + "=" + invoke(value, "getValue") + "\n"));
        }
        return text.toString();
    }

    @Test
    void metersAreInTheRegistryOfTheApplication() {
        runner().run(context -> {
            MeterRegistry registry = context.getBean(MeterRegistry.class);
            await(() -> registry.get("redlock.node.ready").gauges().stream().mapToDouble(Gauge::value).sum() == 3);
        });
    }

    /** Runs in a process of its own, whose class path has neither Actuator nor Micrometer. */
    @EnableAutoConfiguration
    public static final class Small {
        private Small() {
        }

        public static void main(String[] args) {
            try (ConfigurableApplicationContext context = SpringApplication.run(Small.class, args)) {
                System.out.println("beans: " + String.join(" ", context.getBeanDefinitionNames()));
            }
        }
    }

    @Test
    void startsWithoutActuatorAndMicrometer() throws Exception {
        String path = Stream.of(CLASS_PATH.split(File.pathSeparator))
                .filter(entry -> !entry
                        .matches(".*(actuator|/micrometer-|boot-health|spring-integration-core|spring-web"
                                + "|testcontainers|docker-compose)[^/]*\\.jar"))
                .collect(Collectors.joining(File.pathSeparator));
        Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                path, Small.class.getName(), "--redlock.nodes=" + String.join(",", nodes.addresses()))
                .redirectErrorStream(true)
                .start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(out).isZero();
        assertThat(out.lines().filter(line -> line.startsWith("beans: ")).findFirst().orElse(out))
                .contains(" redlock ")
                .doesNotContain("redlockHealthIndicator", "redlockMetrics");
    }

    @Test
    void partsCanBeSwitchedOffAndAnOwnClientReplacesTheClient() {
        runner("redlock.enabled=false").run(context -> {
            assertThat(context).doesNotHaveBean(Redlock.class).doesNotHaveBean("redlockHealthIndicator");
            assertThat(context).hasNotFailed();
        });
        runner("management.health.redlock.enabled=false", "management.simple.metrics.export.enabled=false",
                "management.defaults.metrics.export.enabled=false").withUserConfiguration(OwnClient.class)
                .run(context -> {
                    assertThat(context).hasSingleBean(Redlock.class).doesNotHaveBean(RedlockContext.class);
                    assertThat(context).doesNotHaveBean("redlockHealthIndicator");
                });
    }

    /** Uses the client while it is destroyed. */
    record Order(Redlock redlock, List<String> seen) implements DisposableBean {
        @Override
        public void destroy() throws InterruptedException {
            seen.add("destroyed: " + redlock.tryAcquire("order", TTL).kind());
        }
    }

    @Test
    void closeReleasesAfterTheBeansThatUseTheClientAndAStopDoesNot() throws Exception {
        List<String> seen = new ArrayList<>();
        try (Redlock other = other("close:")) {
            runner("redlock.key-prefix=close:").withBean(Order.class, seen).run(context -> {
                Redlock redlock = context.getBean(Redlock.class);
                ConfigurableApplicationContext application = context.getSourceApplicationContext();
                assertThat(redlock.acquire("job", Duration.ofSeconds(60)).isAcquired()).isTrue();
                application.stop();
                application.start();
                assertThat(other.tryAcquire("job", TTL).isAcquired()).isFalse();
                assertThat(redlock.tryAcquire("job/2", TTL).isAcquired()).isTrue();
            });
            assertThat(other.tryAcquire("job", TTL).isAcquired()).isTrue();
        }
        assertThat(seen).containsExactly("destroyed: ACQUIRED");
    }

    /** The client runs on event loops of the application, which are executors. */
    @Configuration(proxyBeanMethods = false)
    static class OwnLoops {
        @Bean
        EventLoopGroup loops() {
            return new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        }

        @Bean
        RedlockContextCustomizer onLoops(EventLoopGroup loops) {
            return context -> context.eventLoops(loops.next());
        }
    }

    @Test
    void closeReleasesOnEventLoopsOfTheApplication() {
        AtomicReference<Redlock> closed = new AtomicReference<>();
        AtomicReference<EventLoopGroup> loops = new AtomicReference<>();
        runner("redlock.close-waits=true").withUserConfiguration(OwnLoops.class).run(context -> {
            closed.set(context.getBean(Redlock.class));
            loops.set(context.getBean(EventLoopGroup.class));
            assertThat(closed.get().acquire("loops", Duration.ofSeconds(60)).isAcquired()).isTrue();
        });
        assertThat(closed.get().counters().releaseCount(ReleaseOutcome.RELEASED)).isOne();
        assertThat(loops.get().isShuttingDown()).isTrue();
    }

    /** Two jobs that work for some time after the close of the application has begun. */
    @EnableScheduling
    @EnableAsync
    static class Jobs {
        final List<String> ends = new CopyOnWriteArrayList<>();
        final Set<Boolean> threads = ConcurrentHashMap.newKeySet();
        final CountDownLatch running = new CountDownLatch(2);
        private final CountDownLatch closing = new CountDownLatch(1);
        private final Redlock redlock;

        Jobs(Redlock redlock) {
            this.redlock = redlock;
        }

        @Scheduled(fixedRate = 1, timeUnit = TimeUnit.DAYS)
        void scheduled() throws InterruptedException {
            run("scheduled");
        }

        void run(String name) throws InterruptedException {
            redlock.runOrThrow(name, AcquireOptions.ofTtl(Duration.ofSeconds(60)), lease -> {
                running.countDown();
                while (closing.getCount() > 0) {
                    await(closing);
                }
                long endNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(300);
                while (lease.isHeld() && System.nanoTime() - endNs < 0) {
                    await(new CountDownLatch(1));
                }
                threads.add(Thread.currentThread().toString().startsWith("VirtualThread"));
                ends.add(name + ", held: " + lease.isHeld());
            });
        }

        /** Spring Boot 3.5.0 interrupts virtual threads, perhaps before they see the close, and then waits for them. */
        private static void await(CountDownLatch latch) {
            try {
                latch.await(5, TimeUnit.MILLISECONDS);
            } catch (InterruptedException e) {
                // the job continues
            }
        }

        @EventListener(ContextClosedEvent.class)
        void close() {
            closing.countDown();
        }
    }

    /** Runs a job in the executor of the application. */
    static class Background {
        @Async
        public void run(Jobs jobs) throws InterruptedException {
            jobs.run("async");
        }
    }

    /** On Java 17 the last case has threads of the platform too. */
    @ParameterizedTest
    @ValueSource(
            strings = {"spring.threads.virtual.enabled=false", AWAIT, AWAIT + " spring.threads.virtual.enabled=true"})
    void jobsThatRunDuringTheCloseHoldTheirLocksToTheirEnd(String properties) throws Exception {
        AtomicReference<Jobs> started = new AtomicReference<>();
        runner(properties.split(" ")).withBean(Jobs.class).withBean(Background.class).run(context -> {
            Jobs jobs = context.getBean(Jobs.class);
            started.set(jobs);
            context.getBean(Background.class).run(jobs);
            jobs.running.await();
        });
        Jobs jobs = started.get();
        assertThat(jobs.ends).containsExactlyInAnyOrder("scheduled, held: true", "async, held: true");
        boolean isVirtual = properties.endsWith("virtual.enabled=true") && Runtime.version().feature() >= 21;
        assertThat(jobs.threads).containsExactly(isVirtual);
        try (Redlock other = other("")) {
            for (String name : List.of("scheduled", "async")) {
                assertThat(other.tryAcquire(name, TTL).isAcquired()).isTrue();
            }
        }
    }

    @Test
    void theMetadataDescribeEachProperty() throws Exception {
        // Other jars have such a file too.
        String own = RedlockContextCustomizer.class.getName().replace('.', '/') + ".class";
        URL here = new URL(RedlockContextCustomizer.class.getResource("/" + own).toString().replace(own, ""));
        try (InputStream in = new URL(here + "META-INF/spring-configuration-metadata.json").openStream()) {
            String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            List<String> described = Pattern.compile("\"name\": \"redlock\\.([^\"]*)\", \"type\": \"([^\"]*)\"")
                    .matcher(text)
                    .results()
                    .map((MatchResult match) -> match.group(1) + " " + match.group(2))
                    .toList();
            List<String> expected = new ArrayList<>(List.of("enabled java.lang.Boolean", "username java.lang.String",
                    "password java.lang.String", "sentinel-username java.lang.String",
                    "sentinel-password java.lang.String", "locked.order java.lang.Integer",
                    "locked.ttl java.time.Duration", "problemdetails.enabled java.lang.Boolean"));
            for (Method method : RedlockContext.class.getMethods()) {
                if (RedlockProperties.isOption(method)) {
                    expected.add(method.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT) + " "
                            + ClassUtils.resolvePrimitiveIfNecessary(method.getParameterTypes()[0]).getCanonicalName());
                }
            }
            assertThat(described).containsExactlyInAnyOrderElementsOf(expected);
        }
    }
}
