package dev.redlock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.Lease;
import dev.redlock.api.LeaseState;
import dev.redlock.api.LockNotAcquiredException;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.io.File;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.aopalliance.intercept.MethodInterceptor;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.AliasFor;
import org.springframework.core.env.Environment;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.interceptor.BeanFactoryTransactionAttributeSourceAdvisor;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;
import reactor.core.Disposable;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Hooks;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.core.scheduler.Schedulers;

/** Methods with {@link Locked} in an application, on real nodes. Runs on the Spring Boot of its sibling. */
@Timeout(60)
class LockedTest {

    private static final Duration TTL = Duration.ofSeconds(20);

    private static RedisNodes nodes;
    private static Redlock other;
    private static ConfigurableApplicationContext application;
    private static Shop shop;

    /** Names of resources, of which no two tests have the same. */
    private final String id = UUID.randomUUID().toString();

    @BeforeAll
    static void start() {
        nodes = RequiredNodes.start(Source.PATH, 3);
        other = Redlock.connect(new RedlockContext().nodes(nodes.addresses())
                .restartGuard(RestartGuardMode.OFF)
                .closeWaits(true)
                .connectTimeout(Duration.ofSeconds(20))
                .nodeTimeout(Duration.ofSeconds(1)));
        application = run(App.class);
        shop = application.getBean(Shop.class);
    }

    @AfterAll
    static void end() {
        if (application != null) {
            application.close();
            other.close();
            nodes.close();
        }
    }

    private static ConfigurableApplicationContext run(Class<?> type, String... more) {
        return run(nodes, type, more);
    }

    private static ConfigurableApplicationContext run(RedisNodes servers, Class<?> type, String... more) {
        List<String> arguments = new ArrayList<>(List.of("--redlock.nodes=" + String.join(",", servers.addresses()),
                "--shop.ttl=20s", "--shop.lock=placed", "--shop.group=shipping", "--redlock.restart-guard=off",
                "--redlock.connect-timeout=20s", "--redlock.node-timeout=${shop.node-timeout:1s}",
                "--redlock.default-wait=20s"));
        arguments.addAll(Arrays.asList(more));
        return SpringApplication.run(type, arguments.toArray(String[]::new));
    }

    // ---- the application --------------------------------------------------------------------------------------------

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @EnableTransactionManagement
    static class App {
        @Bean
        Shop shop() {
            return new Shop();
        }

        @Bean
        Whole whole() {
            return new Whole();
        }

        @Bean
        Counter counter() {
            return new Counter();
        }

        @Bean
        Inheriting inheriting() {
            return new Inheriting();
        }

        @Bean
        Described described() {
            return new DescribedService();
        }

        @Bean
        Transfers transfers() {
            return new Transfers();
        }

        @Bean
        PlatformTransactionManager transactions() {
            return new Transactions();
        }

        @Bean
        static BeanPostProcessor orderOfTransactions(Environment environment) {
            return new BeanPostProcessor() {
                @Override
                public Object postProcessBeforeInitialization(Object bean, String name) {
                    if (bean instanceof BeanFactoryTransactionAttributeSourceAdvisor advisor) {
                        advisor.setOrder(environment.getProperty("shop.transactions-order", Integer.class,
                                Integer.MAX_VALUE));
                    }
                    return bean;
                }
            };
        }

        @Bean
        String region() {
            return "north";
        }
    }

    /** A meta-annotation with the options of the house. */
    @Retention(RetentionPolicy.RUNTIME)
    @Locked(name = "orders", ttl = "20s", waitUpTo = "0")
    @interface OrderLock {
        @AliasFor(annotation = Locked.class, attribute = "key")
        String value();
    }

    record Order(String id) {
    }

    static class Plain {
    }

    enum Mood {
        CALM {
        }
    }

    static class Shop {
        static final List<Object> SEEN = new CopyOnWriteArrayList<>();

        @Locked(name = "orders", key = "#id", ttl = "20s")
        public <T> T ship(String id, Supplier<T> work) {
            return work.get();
        }

        @Locked(name = "orders", key = "#p0 + '/' + @region + '/' + #root.methodName")
        public void byPosition(String id, Runnable work) {
            work.run();
        }

        @Locked(name = "orders", key = "#root.args[0].id()")
        public void byRoot(Order order, Runnable work) {
            work.run();
        }

        @Locked(name = "orders", key = "#key")
        public void byAny(Object key, Runnable work) {
            work.run();
        }

        @Locked(name = "${shop.lock}", key = "#id", ttl = "${shop.ttl}", waitUpTo = "${shop.wait:10ms}")
        public void placed(String id, Runnable work) {
            work.run();
        }

        @OrderLock("#id")
        public void meta(String id, Runnable work) {
            work.run();
        }

        @Locked("report")
        public void withoutKey(Runnable work) {
            work.run();
        }

        @Locked(name = "orders", key = "#id", fenced = true)
        public long fenced(String id, Lease lease) {
            assertThat(lease.isHeld()).isTrue();
            assertThat(lease.resources()).containsExactly("orders/" + id);
            return lease.fencingToken();
        }

        @Locked(name = "orders", key = "#id", mode = Locked.Mode.READ)
        public void read(String id, Runnable work) {
            work.run();
        }

        @Locked(name = "orders", key = "#id", permits = 2)
        public void permit(String id, Runnable work) {
            work.run();
        }

        @Locked(name = "orders", key = "#id", group = "${shop.group}")
        public void grouped(String id) {
            SEEN.add(id);
        }

        @Locked(name = "orders", key = "#id", waitUpTo = "0", fallback = "busy")
        public String withFallback(String id) {
            return "shipped";
        }

        @SuppressWarnings("unused") // the fallback, which may be private
        private String busy(String id, AcquireOutcome outcome) {
            return id + " " + outcome.kind();
        }

        @Locked(name = "orders", key = "#id", waitUpTo = "0", fallback = "later")
        public CompletableFuture<String> stageWithFallback(String id) {
            return CompletableFuture.completedFuture("shipped");
        }

        public CompletableFuture<String> later(String id) {
            return CompletableFuture.completedFuture("later");
        }

        @Locked(name = "orders", key = "#id", waitUpTo = "0", fallback = "soon")
        public Mono<String> monoWithFallback(String id) {
            return Mono.just("shipped");
        }

        public Mono<String> soon(String id, AcquireOutcome outcome) {
            SEEN.add(id);
            return Mono.just("soon " + outcome.kind());
        }

        @Locked(name = "jobs", key = "#id", skipIfHeld = true, holdAtLeast = "20s")
        public void job(String id) {
            SEEN.add(id);
        }

        @Locked(name = "jobs", key = "#id", skipIfHeld = true)
        public CompletionStage<Void> jobStage(String id) {
            SEEN.add(id);
            return CompletableFuture.completedFuture(null);
        }

        @Locked(name = "jobs", key = "#id", skipIfHeld = true)
        public Flux<String> jobFlux(String id) {
            SEEN.add(id);
            return Flux.just(id);
        }

        @Locked(name = "orders", key = "#id")
        public <T> CompletableFuture<T> stage(String id, Supplier<CompletableFuture<T>> work) {
            return work.get();
        }

        @Locked(name = "orders", key = "#id")
        public <T> Mono<T> mono(String id, Supplier<Mono<T>> work) {
            return work.get();
        }

        @Locked(name = "orders", key = "#id")
        public <T> Flux<T> flux(String id, Supplier<Flux<T>> work) {
            return work.get();
        }

        @Locked(name = "orders", key = "#id")
        public Object undeclared(String id) {
            return Mono.just(id);
        }

        @Locked(name = "orders", key = "#id", watchLoss = true)
        public String lost(String id, Function<Lease, String> work, Lease lease) {
            return work.apply(lease);
        }

        @Locked(name = "orders", key = "#id", watchLoss = true)
        public CompletableFuture<String> lostLater(String id, Function<Lease, CompletableFuture<String>> work,
                Lease lease) {
            return work.apply(lease);
        }

        @Locked(name = "orders", key = "#id", watchLoss = true, onLoss = Locked.OnLoss.IGNORE)
        public String lostIgnored(String id, Function<Lease, String> work, Lease lease) {
            return work.apply(lease);
        }

        @Locked(name = "orders", key = "#id", watchLoss = true, onLoss = Locked.OnLoss.INTERRUPT)
        public void lostInterrupted(String id, CountDownLatch running) throws InterruptedException {
            running.countDown();
            new CountDownLatch(1).await();
        }

        @Locked(name = "orders", key = "#id", watchLoss = true, onLoss = Locked.OnLoss.INTERRUPT)
        public CompletableFuture<String> lostStage(String id, CompletableFuture<String> work, CountDownLatch running) {
            running.countDown();
            return work;
        }

        @Locked(name = "orders", key = "#id", watchLoss = true, onLoss = Locked.OnLoss.INTERRUPT)
        public Mono<String> lostMono(String id, Mono<String> work) {
            return work;
        }

        @Locked(name = "orders", key = "#id", watchLoss = true, onLoss = Locked.OnLoss.INTERRUPT)
        public Flux<String> lostFlux(String id, Flux<String> work) {
            return work;
        }

        @Locked(name = "orders", key = "#id", ttl = "300ms", holdAtMost = "300ms")
        public String tooLong(String id, Lease lease) {
            await(() -> !lease.isHeld());
            return "done";
        }

        @Locked(name = "orders", key = "#id", ttl = "6s")
        public boolean extended(String id, Lease lease) {
            AtomicLong least = new AtomicLong(Long.MAX_VALUE);
            await(() -> {
                long remainingNs = lease.remainingValidityNs();
                return remainingNs > least.getAndSet(remainingNs);
            });
            return lease.isHeld();
        }

        @Locked(name = "orders", key = "#id")
        public void waits(String id) {
        }

        @Locked(name = "orders", key = "#id")
        public void waitsDeclared(String id) throws InterruptedException {
        }
    }

    @Locked(name = "whole", waitUpTo = "0")
    static class Whole {
        public void locked(Runnable work) {
            work.run();
        }

        void notPublic(Runnable work) {
            work.run();
        }

        @Locked(name = "part", waitUpTo = "0")
        public void part(Runnable work) {
            work.run();
        }
    }

    @Locked(name = "counter", waitUpTo = "0", fallback = "busy")
    static class Counter {
        public String count(String id, Runnable work) {
            work.run();
            return id;
        }

        public String busy(String id, Runnable work, AcquireOutcome outcome) {
            return id + " is " + outcome.kind();
        }
    }

    /** Of this package: javac makes a bridge of each public method in a public subclass. */
    abstract static class NotPublic {
        public void covered(Runnable work) {
            work.run();
        }

        @Locked(name = "part", waitUpTo = "0")
        public void part(Runnable work) {
            work.run();
        }
    }

    @Locked(name = "whole", waitUpTo = "0")
    public static class Inheriting extends NotPublic {
    }

    interface Described {
        @Locked(name = "described", key = "#id", waitUpTo = "0")
        void run(String id, Runnable work);
    }

    static class DescribedService implements Described {
        @Override
        public void run(String id, Runnable work) {
            work.run();
        }
    }

    static class Transfers {
        @Locked(name = "orders", key = "#id")
        @Transactional
        public void transfer(String id, RuntimeException thrown) {
            Transactions.add("method");
            if (thrown != null) {
                throw thrown;
            }
        }
    }

    interface Job {
        CompletableFuture<Void> run(CountDownLatch running);
    }

    /** A job that its bean awaits when the application closes. */
    static class Closing implements Job, DisposableBean {
        static volatile Boolean wasHeld;
        private final CompletableFuture<Void> job = new CompletableFuture<>();

        @Override
        @Locked("closing")
        public CompletableFuture<Void> run(CountDownLatch running) {
            running.countDown();
            return job;
        }

        @Override
        public void destroy() {
            wasHeld = isHeld("closing");
            job.complete(null);
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class ClosingApp {
        @Bean
        Closing closing() {
            return new Closing();
        }
    }

    interface Store<T> {
        void save(T id, Runnable work);
    }

    interface Orders extends Store<String> {
        @Override
        @Locked(name = "orders", key = "#id", waitUpTo = "0", fallback = "later")
        void save(String id, Runnable work);

        default void later(String id, Runnable work) {
            Shop.SEEN.add("later");
        }
    }

    /** As the repositories of Spring Data: a proxy, whose target does not implement the interface. */
    static class OrdersFactory implements FactoryBean<Orders> {
        @Override
        public Orders getObject() {
            ProxyFactory proxy = new ProxyFactory(new Plain());
            proxy.addInterface(Orders.class);
            proxy.addAdvice((MethodInterceptor) call -> {
                if (call.getMethod().getName().equals("later")) {
                    return InvocationHandler.invokeDefault(((ProxyMethodInvocation) call).getProxy(), call.getMethod(),
                            call.getArguments());
                }
                ((Runnable) call.getArguments()[1]).run();
                return null;
            });
            return (Orders) proxy.getProxy();
        }

        @Override
        public Class<?> getObjectType() {
            return Orders.class;
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class StoreApp {
        @Bean
        OrdersFactory orders() {
            return new OrdersFactory();
        }
    }

    @Locked(name = "report", key = "#p0", skipIfHeld = true)
    interface Report {
        void write(String id, Runnable work);
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class ReportApp {
        @Bean
        Report report() {
            return (id, work) -> work.run();
        }
    }

    /** Notes whether another client can get the lock of the test while a transaction begins and ends. */
    static class Transactions extends AbstractPlatformTransactionManager {
        private static final long serialVersionUID = 1;
        private static final List<String> STEPS = new CopyOnWriteArrayList<>();
        private static Redlock client;
        private static String resource;

        static void watch(Redlock asked, String watched) {
            client = asked;
            resource = watched;
            STEPS.clear();
        }

        static void add(String step) {
            STEPS.add(step + (isFree(client, resource) ? " free" : " locked"));
        }

        @Override
        protected Object doGetTransaction() {
            return this;
        }

        @Override
        protected void doBegin(Object transaction, TransactionDefinition definition) {
            add("begin");
        }

        @Override
        protected void doCommit(DefaultTransactionStatus status) {
            add("commit");
        }

        @Override
        protected void doRollback(DefaultTransactionStatus status) {
            add("rollback");
        }
    }

    // ---- helpers ----------------------------------------------------------------------------------------------------

    private String order() {
        return "orders/" + id;
    }

    /** For the other client, which does not share the connections of the holder: its release may be on the way. */
    private static boolean isHeld(String resource) {
        return !isFree(other, resource);
    }

    /** For the client of the application, which sends its acquire after its release. */
    private static boolean isFree(String resource) {
        return isFree(application.getBean(Redlock.class), resource);
    }

    private static boolean isFree(Redlock client, String resource) {
        try {
            AcquireOutcome outcome = client.tryAcquire(resource, TTL);
            if (outcome.isAcquired()) {
                outcome.lease().release();
            }
            return outcome.isAcquired();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void assertFree(String resource) {
        assertThat(isFree(resource)).as(resource).isTrue();
    }

    private static void await(BooleanSupplier condition) {
        long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - deadlineNs).isNegative();
            try {
                new CountDownLatch(1).await(5, TimeUnit.MILLISECONDS);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    private static void awaitFree(String resource) {
        await(() -> !isHeld(resource));
    }

    /** Deletes the key of the lock, as an operator does who breaks it. */
    private static void breakLock(String resource) {
        for (int i = 0; i < 3; i++) {
            nodes.node(i).call("DEL", resource);
        }
    }

    private Lease taken(String resource) throws InterruptedException {
        return other.acquire(resource, TTL).lease();
    }

    private Runnable expectHeld(String resource) {
        return () -> {
            Shop.SEEN.add(resource);
            assertThat(isHeld(resource)).as(resource).isTrue();
        };
    }

    // ---- values -----------------------------------------------------------------------------------------------------

    @Test
    void theLockIsHeldWhileTheMethodRunsAndFreeAfterwards() {
        assertThat(shop.<Boolean>ship(id, () -> isHeld(order()))).isTrue();
        assertFree(order());
        IllegalStateException thrown = new IllegalStateException("of the method");
        assertThatThrownBy(() -> shop.ship(id, () -> {
            throw thrown;
        })).isSameAs(thrown);
        assertFree(order());
    }

    @Test
    void theGroupOfTheMethodIsCounted() {
        shop.grouped(id);
        assertThat(application.getBean(Redlock.class).groups()).singleElement()
                .satisfies(group -> assertThat(group.name()).isEqualTo("shipping"))
                .satisfies(group -> assertThat(group.acquireTimes().count(AcquireOutcome.Kind.ACQUIRED)).isOne());
    }

    @Test
    void callersOfOneKeyTakeTurnsAndThoseOfTwoKeysMeet() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            AtomicInteger inside = new AtomicInteger();
            AtomicInteger most = new AtomicInteger();
            List<Future<?>> calls = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                calls.add(threads.submit(() -> shop.ship(id, () -> {
                    most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                    Thread.yield();
                    return inside.decrementAndGet();
                })));
            }
            for (Future<?> call : calls) {
                call.get();
            }
            assertThat(most).hasValue(1);
            CyclicBarrier meeting = new CyclicBarrier(2);
            List<Future<?>> pair = new ArrayList<>();
            for (String one : List.of(id + "a", id + "b")) {
                pair.add(threads.submit(() -> shop.ship(one, () -> meet(meeting))));
            }
            for (Future<?> call : pair) {
                call.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private static int meet(CyclicBarrier meeting) {
        try {
            return meeting.await(30, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void theKeyIsAnExpression() {
        Shop.SEEN.clear();
        shop.byPosition(id, expectHeld(order() + "/north/byPosition"));
        shop.byRoot(new Order(id), expectHeld(order()));
        shop.byAny(17L, expectHeld("orders/17"));
        shop.byAny(Optional.of(id), expectHeld(order()));
        shop.byAny(UUID.fromString(id), expectHeld(order()));
        shop.byAny(Mood.CALM, expectHeld("orders/CALM"));
        shop.byAny(new StringBuilder(id), expectHeld(order()));
        shop.placed(id, expectHeld("placed/" + id));
        shop.meta(id, expectHeld(order()));
        shop.withoutKey(expectHeld("report"));
        application.getBean(Described.class).run(id, expectHeld("described/" + id));
        assertThat(Shop.SEEN).hasSize(11);
    }

    @Test
    void aCollectionIsASetOfResources() {
        Shop.SEEN.clear();
        List<String> ids = List.of(id + "a", id + "b", id + "a");
        Runnable both = () -> ids.forEach(one -> expectHeld("orders/" + one).run());
        shop.byAny(ids, both);
        shop.byAny(ids.toArray(), both);
        shop.byAny(new int[]{1, 2}, () -> List.of(1, 2).forEach(one -> expectHeld("orders/" + one).run()));
        assertThat(Shop.SEEN).hasSize(8);
        ids.forEach(one -> assertFree("orders/" + one));
    }

    static Stream<Arguments> keysThatAreNone() {
        return Stream.of("", Optional.empty(), List.of(), new String[0], Arrays.asList("a", null), List.of(""),
                new Plain(), List.of(new Plain()), new int[][]{{1}}).map(key -> Arguments.of(key));
    }

    @ParameterizedTest
    @MethodSource("keysThatAreNone")
    void aKeyWithoutATextIsAnError(Object key) {
        assertThatThrownBy(() -> shop.byAny(key, () -> Shop.SEEN.add("never")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("LockedTest$Shop.byAny(Object, Runnable): key \"#key\"")
                .hasMessageMatching("(?s).*(a lock needs a text|at least one resource|whose toString\\(\\) differs).*");
    }

    @Test
    void anExpressionThatFailsIsAnError() {
        assertThatThrownBy(() -> shop.byAny(null, () -> Shop.SEEN.add("never"))).hasMessageContaining("is null");
        assertThatThrownBy(() -> shop.byRoot(null, () -> Shop.SEEN.add("never")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("byRoot(Order, Runnable): key \"#root.args[0].id()\" has no value");
    }

    @Test
    void theClassHasALockForItsPublicMethods() {
        Whole whole = application.getBean(Whole.class);
        Shop.SEEN.clear();
        whole.locked(expectHeld("whole"));
        whole.part(() -> {
            expectHeld("part").run();
            assertFree("whole");
        });
        whole.notPublic(() -> {
            assertFree("whole");
            Shop.SEEN.add("free");
        });
        assertThat(Shop.SEEN).containsExactly("whole", "part", "free");
    }

    @Test
    void theClassHasAFallbackForItsOtherPublicMethods() throws Exception {
        Counter counter = application.getBean(Counter.class);
        assertThat(counter.count(id, expectHeld("counter"))).isEqualTo(id);
        try (Lease lease = application.getBean(Redlock.class).acquire("counter", TTL).lease()) {
            assertThat(counter.count(id, () -> Shop.SEEN.add("never"))).isEqualTo(id + " is CONTENDED");
            assertThat(lease.isHeld()).isTrue();
        }
    }

    @Test
    void methodsOfASuperclassThatIsNotPublicHaveTheirLocks() {
        Inheriting inheriting = application.getBean(Inheriting.class);
        Shop.SEEN.clear();
        inheriting.covered(expectHeld("whole"));
        inheriting.part(expectHeld("part"));
        assertThat(Shop.SEEN).containsExactly("whole", "part");
    }

    @Test
    void aParameterGetsTheLeaseWithItsToken() throws Exception {
        long first = shop.fenced(id, null);
        assertThat(shop.fenced(id, null)).isGreaterThan(first);
        try (Lease own = taken("other/" + id)) {
            assertThatThrownBy(() -> shop.fenced(id, own)).isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("fenced(String, Lease)")
                    .hasMessageContaining("pass null");
        }
    }

    @Test
    void readersAndHoldersOfPermitsMeet() {
        shop.read(id, () -> shop.read(id, () -> assertThat(isHeld(order())).isTrue()));
        shop.permit(id, () -> shop.permit(id, () -> {
            assertFree(order());
            Shop.SEEN.add(id);
        }));
        assertThat(Shop.SEEN).contains(id);
    }

    @Test
    void theLeaseIsExtendedWhileTheMethodRuns() {
        assertThat(shop.extended(id, null)).isTrue();
    }

    @Test
    void anInterruptEndsTheWait() throws Exception {
        try (Lease lease = taken(order())) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> shop.waits(id)).isInstanceOf(CancellationException.class)
                    .hasMessageContaining("Shop.waits(String) was interrupted")
                    .hasCauseInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).isTrue();
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> shop.waitsDeclared(id)).isInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).isFalse();
            assertThat(lease.isHeld()).isTrue();
        }
    }

    @Test
    void aPromiseUnderAnotherTypeIsAnError() {
        assertThatThrownBy(() -> shop.undeclared(id)).isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("Mono")
                .hasMessageContaining("declare the type");
        assertFree(order());
    }

    // ---- not acquired -----------------------------------------------------------------------------------------------

    @Test
    void aHeldLockIsAnExceptionOrAFallback() throws Exception {
        try (Lease lease = taken(order())) {
            assertThatThrownBy(() -> shop.meta(id, () -> Shop.SEEN.add("never")))
                    .isInstanceOfSatisfying(LockNotAcquiredException.class,
                            e -> assertThat(e.kind()).isEqualTo(AcquireOutcome.Kind.CONTENDED))
                    .hasMessageContaining(order());
            assertThat(shop.withFallback(id)).isEqualTo(id + " CONTENDED");
            assertThat(shop.stageWithFallback(id).get()).isEqualTo("later");
            assertThat(shop.monoWithFallback(id).block()).isEqualTo("soon CONTENDED");
            assertThat(lease.isHeld()).isTrue();
        }
        assertThat(shop.withFallback(id)).isEqualTo("shipped");
        assertThat(shop.stageWithFallback(id).get()).isEqualTo("shipped");
        assertThat(shop.monoWithFallback(id).block()).isEqualTo("shipped");
    }

    @Test
    void aJobIsSkippedIfAnotherHolderHasItsLock() throws Exception {
        Shop.SEEN.clear();
        try (Lease lease = taken("jobs/" + id)) {
            shop.job(id);
            assertThat(shop.jobStage(id).toCompletableFuture().get()).isNull();
            assertThat(shop.jobFlux(id).collectList().block()).isEmpty();
            assertThat(lease.isHeld()).isTrue();
        }
        assertThat(Shop.SEEN).isEmpty();
        assertThat(shop.jobFlux(id).collectList().block()).containsExactly(id);
        shop.jobStage(id).toCompletableFuture().get();
        shop.job(id);
        shop.job(id);
        assertThat(Shop.SEEN).as("the second job finds the lock kept").containsExactly(id, id, id);
    }

    @Test
    void aMissingQuorumIsThrownAlsoIfHeldLocksSkip() {
        try (RedisNodes own = RequiredNodes.start(Source.PATH, 3);
                ConfigurableApplicationContext alone = run(own, App.class)) {
            own.node(0).kill();
            own.node(1).kill();
            assertThatThrownBy(() -> alone.getBean(Shop.class).job(id))
                    .isInstanceOfSatisfying(LockNotAcquiredException.class,
                            e -> assertThat(e.kind()).isEqualTo(AcquireOutcome.Kind.NO_QUORUM));
        }
    }

    // ---- stages -----------------------------------------------------------------------------------------------------

    @Test
    void theLockIsHeldUntilTheStageCompletes() throws Exception {
        CompletableFuture<String> work = new CompletableFuture<>();
        CompletableFuture<String> result = shop.stage(id, () -> work);
        await(() -> isHeld(order()));
        assertThat(result).isNotDone();
        work.complete("done");
        assertThat(result.get()).isEqualTo("done");
        awaitFree(order());
        CompletableFuture<String> failed = shop.stage(id, () -> CompletableFuture.failedFuture(
                new IllegalStateException("of the stage")));
        assertThatThrownBy(failed::join).isInstanceOf(CompletionException.class)
                .hasRootCauseMessage("of the stage");
        CompletableFuture<String> thrown = shop.stage(id, () -> {
            throw new IllegalStateException("of the method");
        });
        assertThatThrownBy(thrown::join).hasRootCauseMessage("of the method");
        assertThatThrownBy(shop.stage(id, () -> null)::join).hasMessageContaining("returned null instead of a stage");
        awaitFree(order());
    }

    @Test
    void theCallerOfAStageDoesNotWait() throws Exception {
        CompletableFuture<String> result;
        try (Lease lease = taken(order())) {
            result = shop.stage(id, () -> CompletableFuture.completedFuture("done"));
            assertThat(result).isNotDone();
            assertThat(lease.isHeld()).isTrue();
        }
        assertThat(result.get()).isEqualTo("done");
    }

    @Test
    void aCancelledResultCancelsTheStageAndReleases() {
        CompletableFuture<String> work = new CompletableFuture<>();
        CompletableFuture<String> result = shop.stage(id, () -> work);
        await(() -> isHeld(order()));
        await(() -> work.getNumberOfDependents() > 0);
        assertThat(result.cancel(true)).isTrue();
        assertThat(work).isCancelled();
        awaitFree(order());
    }

    @Test
    void aStageThatCannotBeCancelledKeepsItsLock() throws Exception {
        CompletableFuture<String> work = new CompletableFuture<>() {
            @Override
            public boolean cancel(boolean mayInterrupt) {
                return false;
            }
        };
        CompletableFuture<String> result = shop.stage(id, () -> work);
        await(() -> work.getNumberOfDependents() > 0);
        result.cancel(true);
        assertThat(isHeld(order())).isTrue();
        work.complete("done");
        awaitFree(order());
    }

    @Test
    void aCancelledWaitDoesNotRunTheMethod() throws Exception {
        Shop.SEEN.clear();
        try (Lease lease = taken(order())) {
            CompletableFuture<Object> result = shop.stage(id, () -> {
                Shop.SEEN.add("never");
                return null;
            });
            result.cancel(true);
            assertThat(lease.isHeld()).isTrue();
        }
        shop.waits(id);
        awaitFree(order());
        assertThat(Shop.SEEN).isEmpty();
    }

    // ---- publishers -------------------------------------------------------------------------------------------------

    @Test
    void eachSubscriptionToAMonoRunsTheMethodUnderALock() {
        AtomicInteger runs = new AtomicInteger();
        Mono<Integer> mono = shop.mono(id, () -> {
            assertThat(isHeld(order())).isTrue();
            return Mono.fromCallable(runs::incrementAndGet);
        });
        assertFree(order());
        assertThat(runs).hasValue(0);
        assertThat(mono.block()).isEqualTo(1);
        assertThat(mono.map(value -> isFree(order())).block()).as("free when the value arrives").isTrue();
        assertThat(mono.zipWith(mono).block().getT1()).isPositive();
        assertThat(runs).hasValue(4);
        awaitFree(order());
    }

    @Test
    void aMonoReleasesAfterAnErrorAndWithoutAValue() {
        AtomicInteger runs = new AtomicInteger();
        Mono<String> mono = shop.mono(id, () -> runs.incrementAndGet() < 3
                ? Mono.error(new IllegalStateException("of the mono"))
                : Mono.empty());
        assertThatThrownBy(mono::block).hasMessage("of the mono");
        assertFree(order());
        assertThat(mono.retry(3).block()).isNull();
        assertThat(runs).hasValue(3);
        assertFree(order());
        assertThatThrownBy(shop.mono(id, () -> null)::block).hasMessageContaining("null instead of a publisher");
        assertThatThrownBy(shop.mono(id, () -> {
            throw new IllegalStateException("of the method");
        })::block).hasMessage("of the method");
        assertFree(order());
    }

    @Test
    void aCancelledMonoReleasesOrStopsTheWait() throws Exception {
        CountDownLatch running = new CountDownLatch(1);
        CountDownLatch cancelled = new CountDownLatch(1);
        Disposable disposable = shop.mono(id, () -> Mono.never()
                .doOnSubscribe(subscription -> running.countDown())
                .doOnCancel(cancelled::countDown)).subscribe();
        running.await();
        assertThat(isHeld(order())).isTrue();
        disposable.dispose();
        cancelled.await();
        awaitFree(order());
        Shop.SEEN.clear();
        try (Lease lease = taken(order())) {
            shop.mono(id, () -> Mono.fromRunnable(() -> Shop.SEEN.add("never"))).subscribe().dispose();
            assertThat(lease.isHeld()).isTrue();
        }
        shop.waits(id);
        awaitFree(order());
        assertThat(Shop.SEEN).isEmpty();
    }

    @Test
    void manySubscriptionsThatAreCancelledAtAnyTimeLeaveNoLock() {
        List<Disposable> all = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            Disposable one = shop.mono(id, Mono::never).subscribe();
            all.add(one);
            if (i % 2 == 0) {
                await(() -> isHeld(order()));
            }
            one.dispose();
        }
        awaitFree(order());
    }

    @Test
    void aFluxHoldsTheLockFromTheSubscriptionToTheEnd() {
        Flux<Integer> flux = shop.flux(id, () -> Flux.range(0, 100));
        List<Boolean> held = new CopyOnWriteArrayList<>();
        assertThat(flux.limitRate(1).doOnNext(value -> {
            if (value == 50) {
                held.add(isHeld(order()));
            }
        }).collectList().map(values -> isFree(order()) ? values.size() : -1).block()).isEqualTo(100);
        assertThat(held).containsExactly(true);
        assertThat(flux.take(3).collectList().block()).hasSize(3);
        awaitFree(order());
        assertThatThrownBy(shop.flux(id, () -> Flux.concat(Mono.just(1), Mono.error(
                new IllegalStateException("of the flux")))).collectList()::block).hasMessage("of the flux");
        assertFree(order());
    }

    /** The cancel comes between the outcome and the method. */
    @Test
    void aSubscriptionThatIsCancelledAtItsOutcomeStartsNothing() throws Exception {
        Shop.SEEN.clear();
        try (Lease lease = taken(order())) {
            cancelAtOutcome(shop.monoWithFallback(id));
            assertThat(lease.isHeld()).isTrue();
        }
        cancelAtOutcome(shop.mono(id, () -> Mono.just(Shop.SEEN.add("never"))));
        cancelAtOutcome(shop.flux(id, () -> Flux.just(Shop.SEEN.add("never"))));
        awaitFree(order());
        assertThat(Shop.SEEN).isEmpty();
    }

    private static void cancelAtOutcome(Publisher<?> publisher) throws InterruptedException {
        BaseSubscriber<Object> last = new BaseSubscriber<>() {
        };
        CountDownLatch passed = new CountDownLatch(1);
        Hooks.onEachOperator("outcome", Operators.<Object, Object>lift((operator, next) -> new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {
                next.onSubscribe(this);
            }

            @Override
            protected void hookOnNext(Object value) {
                if (value instanceof AcquireOutcome) {
                    last.cancel();
                    next.onNext(value);
                    passed.countDown();
                } else {
                    next.onNext(value);
                }
            }

            @Override
            protected void hookOnComplete() {
                next.onComplete();
            }

            @Override
            protected void hookOnError(Throwable thrown) {
                next.onError(thrown);
            }
        }));
        try {
            publisher.subscribe(last);
            passed.await();
        } finally {
            Hooks.resetOnEachOperator("outcome");
        }
    }

    // ---- a client whose closes wait ---------------------------------------------------------------------------------

    /** The thread that ends such a method may be an event loop of the application. */
    @Test
    void anAsynchronousMethodDoesNotWaitForItsRelease() throws Exception {
        try (RedisNodes own = RequiredNodes.start(Source.PATH, 3);
                ConfigurableApplicationContext waiting = run(own, App.class, "--redlock.close-waits=true",
                        "--shop.node-timeout=20s")) {
            Shop slow = waiting.getBean(Shop.class);
            Redlock client = waiting.getBean(Redlock.class);
            Supplier<String> pause = () -> {
                List.of(0, 1).forEach(i -> own.node(i).pause());
                return "done";
            };
            Mono<String> paused = Mono.fromSupplier(pause).publishOn(Schedulers.parallel());
            for (Supplier<CompletableFuture<String>> call : List.<Supplier<CompletableFuture<String>>>of(
                    () -> slow.mono(id, () -> paused).toFuture(),
                    () -> slow.flux(id, paused::flux).last().toFuture(),
                    () -> slow.stage(id, () -> CompletableFuture.supplyAsync(pause)))) {
                assertThat(call.get().get()).isEqualTo("done");
                assertThat(client.nodes()).as("no node counts as broken yet, which ends the wait for the release")
                        .allMatch(node -> node.problem() == null);
                List.of(0, 1).forEach(i -> own.node(i).resume());
                await(() -> isFree(client, order()));
            }
        }
    }

    // ---- a lost lease -----------------------------------------------------------------------------------------------

    private String loseAndReturn(Lease lease) {
        breakLock(order());
        await(() -> !lease.isHeld());
        return "done";
    }

    @Test
    void aLossIsAnExceptionWhenTheMethodHasEnded() {
        assertThatThrownBy(() -> shop.lost(id, this::loseAndReturn, null))
                .isInstanceOfSatisfying(LeaseLostException.class,
                        e -> assertThat(e.state()).isEqualTo(LeaseState.LOST))
                .hasMessageContaining(order())
                .hasMessageContaining("Shop.lost(String, Function, Lease)");
        assertThatThrownBy(() -> shop.tooLong(id, null)).isInstanceOfSatisfying(LeaseLostException.class,
                e -> assertThat(e.state()).isEqualTo(LeaseState.EXPIRED));
        IllegalStateException own = new IllegalStateException("of the method");
        assertThatThrownBy(() -> shop.lost(id, lease -> {
            loseAndReturn(lease);
            throw own;
        }, null)).isSameAs(own)
                .satisfies(e -> assertThat(e.getSuppressed())
                        .hasOnlyElementsOfType(LeaseLostException.class)
                        .hasSize(1));
        assertThat(shop.lostIgnored(id, this::loseAndReturn, null)).isEqualTo("done");
    }

    /** A stage may wrap the failure in a CompletionException, which {@link CompletableFuture#get} removes. */
    @Test
    void aLossIsInTheFailureOfTheStage() {
        for (Function<Exception, CompletableFuture<String>> failing : List
                .<Function<Exception, CompletableFuture<String>>>of(CompletableFuture::failedFuture,
                        own -> CompletableFuture.failedFuture(new CompletionException(own)))) {
            IllegalStateException own = new IllegalStateException("of the method");
            CompletableFuture<String> result = shop.lostLater(id, lease -> {
                loseAndReturn(lease);
                return failing.apply(own);
            }, null);
            assertThatThrownBy(result::get).hasCause(own);
            assertThat(own.getSuppressed()).hasOnlyElementsOfType(LeaseLostException.class).hasSize(1);
        }
        CompletableFuture<String> lost = shop.lostLater(id, lease -> {
            loseAndReturn(lease);
            return CompletableFuture.failedFuture(new CompletionException("without a cause", null));
        }, null);
        assertThatThrownBy(lost::get).cause()
                .satisfies(e -> assertThat(e.getSuppressed()).hasOnlyElementsOfType(LeaseLostException.class)
                        .hasSize(1));
    }

    @Test
    void aMethodMayReleaseItsLease() {
        assertThat(shop.lost(id, lease -> lease.release().name(), null)).isEqualTo("RELEASED");
    }

    @Test
    void aLossInterruptsTheThread() throws Exception {
        CountDownLatch running = new CountDownLatch(1);
        AtomicInteger flags = new AtomicInteger();
        CompletableFuture<Void> call = CompletableFuture.runAsync(() -> {
            try {
                shop.lostInterrupted(id, running);
            } catch (InterruptedException e) {
                throw new CompletionException(e);
            } finally {
                flags.set(Thread.currentThread().isInterrupted() ? 1 : 2);
            }
        });
        running.await();
        breakLock(order());
        assertThatThrownBy(call::join).cause()
                .isInstanceOf(LeaseLostException.class)
                .hasCauseInstanceOf(InterruptedException.class);
        assertThat(flags).as("the flag is cleared").hasValue(2);
    }

    @Test
    void aLossCancelsTheStage() throws Exception {
        CompletableFuture<String> work = new CompletableFuture<>();
        CountDownLatch running = new CountDownLatch(1);
        CompletableFuture<String> result = shop.lostStage(id, work, running);
        running.await();
        await(() -> work.getNumberOfDependents() > 0);
        breakLock(order());
        assertThatThrownBy(result::join).hasCauseInstanceOf(LeaseLostException.class);
        await(work::isCancelled);
    }

    @Test
    void aLossCancelsTheSubscription() throws Exception {
        for (Function<Mono<String>, Mono<?>> locked : List.<Function<Mono<String>, Mono<?>>>of(
                work -> shop.lostMono(id, work), work -> shop.lostFlux(id, work.flux()).collectList())) {
            CountDownLatch running = new CountDownLatch(1);
            CountDownLatch cancelled = new CountDownLatch(1);
            CompletableFuture<?> result = locked.apply(Mono.<String>never()
                    .doOnSubscribe(subscription -> running.countDown())
                    .doOnCancel(cancelled::countDown)).toFuture();
            running.await();
            breakLock(order());
            assertThatThrownBy(result::join).hasCauseInstanceOf(LeaseLostException.class);
            cancelled.await();
        }
    }

    // ---- transactions -----------------------------------------------------------------------------------------------

    @Test
    void theTransactionCommitsBeforeTheLockIsReleased() {
        Transfers transfers = application.getBean(Transfers.class);
        Transactions.watch(other, order());
        transfers.transfer(id, null);
        assertThat(Transactions.STEPS).containsExactly("begin locked", "method locked", "commit locked");
        assertFree(order());
        Transactions.watch(other, order());
        assertThatThrownBy(() -> transfers.transfer(id, new IllegalStateException("of the method")))
                .hasMessage("of the method");
        assertThat(Transactions.STEPS).containsExactly("begin locked", "method locked", "rollback locked");
        assertFree(order());
    }

    /** A transaction that begins before the lock is taken: the reason for the default. */
    @Test
    void theOrderCanBeChanged() {
        try (ConfigurableApplicationContext inside = run(App.class,
                "--redlock.locked.order=2147483647", "--shop.transactions-order=1")) {
            Transactions.watch(inside.getBean(Redlock.class), order());
            inside.getBean(Transfers.class).transfer(id, null);
            assertThat(Transactions.STEPS).containsExactly("begin free", "method locked", "commit free");
        }
    }

    /** The proxy of the bean is a subclass, or another implementation of its interface, without the annotation. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theClientOutlivesTheBean(boolean isSubclass) throws Exception {
        CompletableFuture<Void> result;
        Closing.wasHeld = null;
        try (ConfigurableApplicationContext closing = run(ClosingApp.class,
                "--spring.aop.proxy-target-class=" + isSubclass)) {
            CountDownLatch running = new CountDownLatch(1);
            Job job = closing.getBean(Job.class);
            assertThat(Proxy.isProxyClass(job.getClass())).isEqualTo(!isSubclass);
            result = job.run(running);
            running.await();
        }
        assertThat(Closing.wasHeld).isTrue();
        assertThat(result.get()).isNull();
        assertThat(isHeld("closing")).isFalse();
    }

    // ---- without a client -------------------------------------------------------------------------------------------

    @Test
    void noMethodRunsWithoutItsLock() {
        try (ConfigurableApplicationContext off = run(App.class, "--redlock.enabled=false")) {
            assertThatThrownBy(() -> off.getBean(Shop.class).ship(id, () -> Shop.SEEN.add("never")))
                    .hasMessageContaining("Shop.ship(String, Supplier) needs one bean of the type Redlock");
        }
        try (ConfigurableApplicationContext off = run(StoreApp.class, "--redlock.enabled=false")) {
            assertThatThrownBy(() -> off.getBean(Orders.class).save(id, () -> Shop.SEEN.add("never")))
                    .hasMessageContaining("Orders.save(String, Runnable) needs one bean of the type Redlock");
        }
    }

    @Test
    void aProxyWhoseTargetHasNoAnnotationRunsUnderTheLockOfItsInterface() throws Exception {
        try (ConfigurableApplicationContext proxied = run(StoreApp.class)) {
            Orders orders = proxied.getBean(Orders.class);
            Store<String> store = orders;
            Shop.SEEN.clear();
            orders.save(id, expectHeld(order()));
            store.save(id, expectHeld(order()));
            try (Lease lease = proxied.getBean(Redlock.class).acquire(order(), TTL).lease()) {
                orders.save(id, () -> Shop.SEEN.add("never"));
                assertThat(lease.isHeld()).isTrue();
            }
            assertThat(Shop.SEEN).containsExactly(order(), order(), "later");
        }
    }

    /** The type of such a bean also has the methods of Spring, which have a value. */
    @Test
    void theAnnotationOfAnInterfaceIsNotForTheMethodsOfItsProxy() throws Exception {
        Shop.SEEN.clear();
        try (ConfigurableApplicationContext proxied = run(ReportApp.class)) {
            Report report = proxied.getBean(Report.class);
            assertThat(Proxy.isProxyClass(report.getClass())).isTrue();
            report.write(id, expectHeld("report/" + id));
            assertThat(((Advised) report).getTargetSource().getTarget()).isInstanceOf(Report.class);
            assertThat(proxied.getBean(LockedMethods.class).all(report.getClass())).singleElement()
                    .satisfies(method -> assertThat(method.where()).endsWith("Report.write(String, Runnable)"));
        }
        assertThat(Shop.SEEN).containsExactly("report/" + id);
    }

    @Test
    void anInterceptorWithoutALockedMethodDoesNotProceed() {
        LockedMethods methods = application.getBean(LockedMethods.class);
        ProxyFactory proxy = new ProxyFactory(List.of());
        proxy.addAdvice(new LockedInterceptor(methods, application.getBeanFactory()));
        List<?> list = (List<?>) proxy.getProxy();
        assertThatThrownBy(list::isEmpty).isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(".isEmpty() is not called, because it would run without its lock");
    }

    @Test
    void theDefaultTtlIsAProperty() throws Exception {
        try (ConfigurableApplicationContext seven = run(App.class, "--redlock.locked.ttl=7s")) {
            seven.getBean(Shop.class)
                    .byAny(id, () -> assertThat(
                            Long.parseLong(nodes.node(0).call("PTTL", order()).toString())).isBetween(3_000L, 7_000L));
        }
        assertThatThrownBy(() -> run(App.class, "--redlock.locked.ttl=seven")).hasStackTraceContaining("seven");
    }

    // ---- without Reactor --------------------------------------------------------------------------------------------

    /** Runs in a process of its own, whose class path has neither Reactor nor transactions nor AspectJ. */
    @EnableAutoConfiguration
    public static class Small {
        @Locked(name = "small", key = "#id", fallback = "busy", waitUpTo = "0")
        public String value(String id) {
            return "value";
        }

        public String busy(String id) {
            return "busy";
        }

        @Locked(name = "small", key = "#id")
        public CompletableFuture<String> stage(String id, Small self) {
            return CompletableFuture.completedFuture("stage, " + self.value(id));
        }

        public static void main(String[] args) {
            try (ConfigurableApplicationContext context = SpringApplication.run(Small.class, args)) {
                Small small = context.getBean(Small.class);
                System.out.println("results: " + small.value("1") + ", " + small.stage("1", small).join());
            }
        }
    }

    @Test
    void locksWithoutReactor() throws Exception {
        String path = Stream.of(System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))
                .split(File.pathSeparator))
                .filter(entry -> !entry.matches(
                        ".*(reactor-core|reactive-streams|spring-tx|spring-integration-core|spring-web|testcontainers"
                                + "|docker-compose|aspectjweaver)[^/]*\\.jar"))
                .collect(Collectors.joining(File.pathSeparator));
        Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                path, Small.class.getName(), "--redlock.nodes=" + String.join(",", nodes.addresses()),
                "--redlock.restart-guard=off", "--redlock.connect-timeout=20s", "--redlock.node-timeout=1s")
                .redirectErrorStream(true)
                .start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(out).isZero();
        assertThat(out).contains("results: value, stage, busy");
    }
}
