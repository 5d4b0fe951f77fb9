package dev.redlock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.spring.inherited.PackagePrivateJob;
import dev.redlock.spring.inherited.ProtectedJob;
import jakarta.annotation.PostConstruct;
import jakarta.annotation.PreDestroy;
import java.text.MessageFormat;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.PriorityOrdered;
import org.springframework.http.ResponseEntity;
import org.springframework.web.context.request.async.DeferredResult;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Annotations that keep an application from starting. No method is called, so there are no nodes. */
@Timeout(60)
class InvalidLockedTest {

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(LockedAutoConfiguration.class));

    static class WithoutName {
        @Locked(key = "#id")
        public void ship(String id) {
        }
    }

    static class UnknownPlaceholder {
        @Locked("${no.such.name}")
        public void ship(String id) {
        }
    }

    static class WrongTtl {
        @Locked(name = "orders", ttl = "ten seconds")
        public void ship(String id) {
        }
    }

    static class TtlOfNothing {
        @Locked(name = "orders", ttl = "0s")
        public void ship(String id) {
        }
    }

    static class NegativeWait {
        @Locked(name = "orders", waitUpTo = "-1s")
        public void ship(String id) {
        }
    }

    static class ShortHold {
        @Locked(name = "orders", ttl = "10s", holdAtMost = "5s")
        public void ship(String id) {
        }
    }

    static class WrongExpression {
        @Locked(name = "orders", key = "#id +")
        public void ship(String id) {
        }
    }

    static class UnknownParameter {
        @Locked(name = "orders", key = "'a/' + (#id ?: #idd)")
        public void ship(String id) {
        }
    }

    static class UnknownPosition {
        @Locked(name = "orders", key = "#p1")
        public void ship(String id) {
        }
    }

    static class UnknownFallback {
        @Locked(name = "orders", fallback = "busy")
        public String ship(String id) {
            return id;
        }

        public String busy(int id) {
            return "";
        }
    }

    static class FallbackOfAnotherType {
        @Locked(name = "orders", fallback = "busy")
        public CompletableFuture<String> ship(String id) {
            return null;
        }

        public String busy(String id, AcquireOutcome outcome) {
            return "";
        }
    }

    /** This one would run without a lock if its name made it a fallback. */
    @Locked(name = "orders", fallback = "ship")
    static class FallbackOfNoMethod {
        public void load(int id) {
        }

        public void ship(int id, AcquireOutcome outcome) {
        }

        public void ship(Object id) {
        }
    }

    static class SkippedAndFallback {
        @Locked(name = "orders", fallback = "busy", skipIfHeld = true)
        public void ship(String id) {
        }

        public void busy(String id) {
        }
    }

    static class SkippedValue {
        @Locked(name = "orders", skipIfHeld = true)
        public int ship(String id) {
            return 1;
        }
    }

    static class SkippedStage {
        @Locked(name = "orders", skipIfHeld = true)
        public CompletableFuture<String> ship(String id) {
            return null;
        }
    }

    static class TwoLeases {
        @Locked("orders")
        public void ship(Lease first, Lease second) {
        }
    }

    static class FencedReader {
        @Locked(name = "orders", fenced = true, mode = Locked.Mode.READ)
        public void ship(String id) {
        }
    }

    static class PermitsToWrite {
        @Locked(name = "orders", permits = 3, mode = Locked.Mode.WRITE)
        public void ship(String id) {
        }
    }

    static class TooManyPermits {
        @Locked(name = "orders", permits = 257)
        public void ship(String id) {
        }
    }

    static class WrongGroup {
        @Locked(name = "orders", group = "all orders")
        public void ship(String id) {
        }
    }

    static class PrivateMethod {
        @Locked("orders")
        @SuppressWarnings("unused") // a proxy cannot call it
        private void ship(String id) {
        }

        @Locked("orders")
        public void valid() {
        }
    }

    static class FinalMethod {
        @Locked("orders")
        public final void ship(String id) {
        }
    }

    static class StaticMethod {
        @Locked("orders")
        public static void ship(String id) {
        }
    }

    static class InheritsPackagePrivate extends PackagePrivateJob {
    }

    static class Initializes {
        @PostConstruct
        @Locked("orders")
        public void ship() {
        }
    }

    static class Destroys {
        @PreDestroy
        @Locked("orders")
        public void ship() {
        }
    }

    /** Spring finds the method of the superclass and calls the one that overrides it. */
    static class InitializesToo extends Initializes {
        @Override
        @Locked("orders")
        public void ship() {
        }
    }

    static class ReturnsFuture {
        @Locked("orders")
        public Future<String> ship(String id) {
            return null;
        }
    }

    static class ReturnsCallable {
        @Locked("orders")
        public Callable<String> ship(String id) {
            return () -> id;
        }
    }

    static class ReturnsOwnStage {
        static class OwnStage extends CompletableFuture<String> {
        }

        @Locked("orders")
        public OwnStage ship(String id) {
            return null;
        }
    }

    static class ReturnsStream {
        @Locked("orders")
        public IntStream ship(String id) {
            return IntStream.empty();
        }
    }

    static class ReturnsResponseOfFlux {
        @Locked("orders")
        public ResponseEntity<Flux<String>> ship(String id) {
            return null;
        }
    }

    static class ReturnsResponseOfDeferred {
        @Locked("orders")
        public ResponseEntity<? extends DeferredResult<String>> ship(String id) {
            return null;
        }
    }

    static class ReturnsMonoOfFlux {
        @Locked("orders")
        public Mono<ResponseEntity<Flux<String>>> ship(String id) {
            return null;
        }
    }

    static class ReturnsStageOfCallable {
        @Locked("orders")
        public CompletableFuture<ResponseEntity<Callable<String>>> ship(String id) {
            return null;
        }
    }

    static class ReturnsFutures {
        @Locked("orders")
        public List<Future<String>[]> ship(String id) {
            return null;
        }
    }

    abstract static class Generic<T> {
        @Locked("orders")
        public Optional<T> ship(String id) {
            return Optional.empty();
        }
    }

    static class ReturnsGeneric extends Generic<Mono<String>> {
    }

    @ParameterizedTest
    @ValueSource(classes = {WithoutName.class, UnknownPlaceholder.class, WrongTtl.class, TtlOfNothing.class,
        NegativeWait.class, ShortHold.class, WrongExpression.class, UnknownParameter.class, UnknownPosition.class,
        UnknownFallback.class, FallbackOfAnotherType.class, FallbackOfNoMethod.class, SkippedAndFallback.class,
        SkippedValue.class, SkippedStage.class, TwoLeases.class, FencedReader.class, PermitsToWrite.class,
        TooManyPermits.class, WrongGroup.class, PrivateMethod.class, FinalMethod.class, StaticMethod.class,
        InheritsPackagePrivate.class, Initializes.class, Destroys.class, InitializesToo.class, ReturnsFuture.class,
        ReturnsCallable.class, ReturnsOwnStage.class, ReturnsStream.class,
        ReturnsResponseOfFlux.class, ReturnsResponseOfDeferred.class, ReturnsMonoOfFlux.class,
        ReturnsStageOfCallable.class, ReturnsFutures.class, ReturnsGeneric.class})
    void theApplicationDoesNotStart(Class<?> type) {
        String expected = switch (type.getSimpleName()) {
            case "WithoutName" -> "no name";
            case "UnknownPlaceholder" -> "no.such.name";
            case "WrongTtl" -> "ttl \"ten seconds\" is no duration";
            case "TtlOfNothing" -> "ttl";
            case "NegativeWait" -> "waitUpTo \"-1s\" is no duration";
            case "ShortHold" -> "holdAtMost 5000 ms is shorter than the ttl 10000 ms";
            case "WrongExpression" -> "key \"#id +\" is no SpEL expression";
            case "UnknownParameter" -> "#idd, which is no parameter: the parameters are [id]";
            case "UnknownPosition" -> "#p1, which is no parameter";
            case "UnknownFallback" -> "fallback \"busy\" is no other method of the class with the same parameters";
            case "FallbackOfNoMethod" -> "ship(Object): the fallback \"ship\" is no other method";
            case "FallbackOfAnotherType" -> "fallback \"busy\" returns java.lang.String, which is no";
            case "SkippedAndFallback" -> "skipIfHeld and a fallback";
            case "SkippedValue", "SkippedStage" -> "skipIfHeld and a value";
            case "TwoLeases" -> "several parameters of the type Lease";
            case "FencedReader" -> "readers do not have";
            case "PermitsToWrite" -> "permits and the mode WRITE";
            case "TooManyPermits" -> "257";
            case "WrongGroup" -> "group \"all orders\" has a blank";
            case "PrivateMethod", "StaticMethod" -> "private or static";
            case "FinalMethod" -> "final method";
            case "Initializes", "Destroys", "InitializesToo" -> "Spring calls it on the object itself";
            case "InheritsPackagePrivate" -> "package-private method of a class in another package";
            default -> "whose work may continue";
        };
        runner.withBean(type).run(context -> {
            assertThat(context).hasFailed();
            Throwable failure = context.getStartupFailure();
            assertThat(failure).isInstanceOf(BeanCreationException.class)
                    .cause()
                    .hasMessageStartingWith("@Locked on " + type.getName() + ".ship(")
                    .hasMessageContaining(expected);
            assertThat(new RedlockFailureAnalyzer().analyze(failure).getAction()).matches("[A-Z].*\\.");
        });
    }

    static class Starting implements InitializingBean {
        @Override
        @Locked("orders")
        public void afterPropertiesSet() {
        }
    }

    static class Ending implements DisposableBean {
        @Override
        @Locked("orders")
        public void destroy() {
        }
    }

    @ParameterizedTest
    @ValueSource(classes = {Starting.class, Ending.class})
    void theApplicationDoesNotStartWithALockedMethodOfTheLifeCycle(Class<?> type) {
        runner.withBean(type).run(context -> {
            assertThat(context).hasFailed();
            assertThat(context.getStartupFailure()).cause()
                    .isInstanceOf(InvalidLockedException.class)
                    .hasMessageStartingWith("@Locked on " + type.getName() + ".")
                    .hasMessageContaining("Spring calls it on the object itself");
        });
    }

    @Locked("orders")
    static class LockedClass implements InitializingBean {
        @Override
        public void afterPropertiesSet() {
        }

        @PostConstruct
        public void start() {
        }

        public void ship(String id) {
        }
    }

    /** Methods with these names that Spring does not call. */
    static class NoLifeCycle {
        @Locked("orders")
        public void afterPropertiesSet() {
        }

        @Locked("orders")
        public void destroy() {
        }
    }

    static class DestroysOne implements DisposableBean {
        @Override
        public void destroy() {
        }

        @Locked("orders")
        public void destroy(String id) {
        }
    }

    @ParameterizedTest
    @ValueSource(classes = {LockedClass.class, NoLifeCycle.class, DestroysOne.class})
    void anAnnotationForOtherMethodsThanThoseOfTheLifeCycleIsValid(Class<?> type) {
        runner.withBean(type).run(context -> assertThat(context).hasNotFailed());
    }

    /** Created before the proxies. */
    static class NeedsABean implements BeanPostProcessor, PriorityOrdered {
        @Override
        public int getOrder() {
            return 0;
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class EarlyBean {
        @Bean
        static PackagePrivate early() {
            return new PackagePrivate();
        }

        @Bean
        static NeedsABean needsABean(PackagePrivate early) {
            return new NeedsABean();
        }

        @Bean
        static Complete inTime() {
            return new Complete();
        }

        /** Its object has the proxy. */
        @Bean
        static ProductFactory product() {
            return new ProductFactory();
        }
    }

    static class ProductFactory implements FactoryBean<Skipped> {
        @Override
        public Skipped getObject() {
            return new Skipped();
        }

        @Override
        public Class<?> getObjectType() {
            return Skipped.class;
        }
    }

    @Test
    void aBeanThatIsTooEarlyForAProxyIsLogged() {
        List<String> lines = new CopyOnWriteArrayList<>();
        Logger log = Logger.getLogger("dev.redlock");
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord line) {
                lines.add(line.getLevel() + " " + MessageFormat.format(line.getMessage(), line.getParameters()));
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
        log.addHandler(handler);
        try {
            runner.withBean("client", Redlock.class, () -> client(Duration.ofMinutes(1)))
                    .withUserConfiguration(EarlyBean.class)
                    .run(context -> assertThat(context).hasNotFailed());
        } finally {
            log.removeHandler(handler);
        }
        assertThat(lines).filteredOn(line -> line.contains("has no proxy"))
                .singleElement()
                .asString()
                .startsWith("WARNING the bean \"early\" has no proxy, so its methods with @Locked run without their"
                        + " locks");
    }

    static class LongerThanOfTheClient {
        @Locked(name = "orders", ttl = "5m")
        public void ship(String id) {
        }
    }

    static class OfTheProperty {
        @Locked(name = "orders", key = "#id", mode = Locked.Mode.READ)
        public void ship(String id) {
        }
    }

    /** No server listens there. */
    private static Redlock client(Duration maxTtl) {
        return Redlock.connect(new RedlockContext().nodes("127.0.0.1:1").maxTtl(maxTtl));
    }

    @ParameterizedTest
    @ValueSource(classes = {LongerThanOfTheClient.class, OfTheProperty.class})
    void theApplicationDoesNotStartWithATtlThatTheClientRejects(Class<?> type) {
        ApplicationContextRunner longer = runner.withBean(type).withPropertyValues("redlock.locked.ttl=5m");
        longer.withBean("client", Redlock.class, () -> client(Duration.ofMinutes(1))).run(context -> {
            assertThat(context).hasFailed();
            Throwable failure = context.getStartupFailure();
            assertThat(failure).isInstanceOf(InvalidLockedException.class)
                    .hasMessageStartingWith("@Locked on " + type.getName() + ".ship(String): ttl 300000 ms is longer"
                            + " than maxTtl 60000 ms");
            assertThat(new RedlockFailureAnalyzer().analyze(failure).getAction()).contains("raise redlock.max-ttl");
        });
        longer.withBean("client", Redlock.class, () -> client(Duration.ofMinutes(5)))
                .run(context -> assertThat(context).hasNotFailed());
    }

    /** The methods use the primary client, and a client that is created at the first call is not created to check. */
    @Test
    void theTtlIsComparedWithTheClientOfTheMethods() {
        ApplicationContextRunner longer = runner.withBean(LongerThanOfTheClient.class);
        longer.withBean("other", Redlock.class, () -> client(Duration.ofMinutes(1)))
                .withBean("client", Redlock.class, () -> client(Duration.ofMinutes(5)),
                        definition -> definition.setPrimary(true))
                .run(context -> assertThat(context).hasNotFailed());
        longer.withBean("other", Redlock.class, () -> client(Duration.ofMinutes(5)))
                .withBean("client", Redlock.class, () -> client(Duration.ofMinutes(1)),
                        definition -> definition.setPrimary(true))
                .run(context -> assertThat(context).hasFailed());
        longer.withBean("client", Redlock.class, () -> {
            throw new AssertionError("created");
        }, definition -> definition.setLazyInit(true)).run(context -> assertThat(context).hasNotFailed());
    }

    /** A node of a tree, whose type contains itself. */
    interface Tree<T extends Tree<T>> {
        List<T> children();
    }

    static class Complete {
        @Locked("orders")
        public ResponseEntity<String> response() {
            return null;
        }

        @Locked("orders")
        public Mono<List<String>> mono() {
            return null;
        }

        @Locked("orders")
        public Flux<Optional<String>> flux() {
            return null;
        }

        @Locked("orders")
        public Optional<String> optional() {
            return null;
        }

        @Locked("orders")
        public CompletableFuture<Map<String, byte[]>> stage() {
            return null;
        }

        @Locked("orders")
        public Supplier<Iterable<?>> supplier() {
            return null;
        }

        @Locked("orders")
        public <T extends Comparable<T>> List<T> sorted() {
            return null;
        }

        @Locked("orders")
        @SuppressWarnings("rawtypes") // as an application may have it
        public Tree tree() {
            return null;
        }

        @Locked("orders")
        public Tree<?>[] trees() {
            return null;
        }
    }

    @Test
    void aValueThatIsCompleteIsValid() {
        runner.withBean(Complete.class).run(context -> assertThat(context).hasNotFailed());
    }

    static class InheritsProtected extends ProtectedJob {
    }

    static class PackagePrivate {
        @Locked("orders")
        void ship(String id) {
        }
    }

    static class InheritsOfItsPackage extends PackagePrivate {
    }

    @ParameterizedTest
    @ValueSource(classes = {InheritsProtected.class, PackagePrivate.class, InheritsOfItsPackage.class})
    void aMethodThatTheProxyOverridesIsValid(Class<?> type) {
        runner.withBean(type).run(context -> assertThat(context).hasNotFailed());
    }

    static class Skipped {
        @Locked(name = "orders", skipIfHeld = true)
        public Mono<Void> ship(String id) {
            return Mono.empty();
        }
    }

    @Test
    void aValidBeanStartsAndFailsWithoutAClient() {
        runner.withBean(Skipped.class).run(context -> {
            assertThat(context).hasNotFailed();
            assertThatThrownBy(() -> context.getBean(Skipped.class).ship("42"))
                    .hasMessageContaining("needs one bean of the type Redlock");
        });
    }

    @Test
    void aNativeImageMayCallTheFallback() throws Exception {
        ReflectionHints hints = new ReflectionHints();
        new LockedHints().registerReflectionHints(hints, FallbackOfAnotherType.class.getMethod("ship", String.class));
        assertThat(hints.getTypeHint(FallbackOfAnotherType.class).methods().map(hint -> hint.getName()).toList())
                .containsExactlyInAnyOrder("busy", "ship");
    }
}
