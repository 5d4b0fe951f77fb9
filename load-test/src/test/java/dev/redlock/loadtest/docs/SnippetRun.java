package dev.redlock.loadtest.docs;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.AcquireCallback;
import dev.redlock.api.AcquireOutcome;
import dev.redlock.api.ReleaseCallback;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import java.util.function.Supplier;

/**
 * One run of one block: what it is given, what it called of that, and what it left open. A block is good if it ends,
 * throws nothing, calls everything that it was given, gets every lock that it asks for, and leaves clients that close
 * with every release confirmed.
 */
final class SnippetRun implements AutoCloseable {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final Duration TTL = Duration.ofSeconds(10);

    private final JavaSnippet snippet;
    private final DocsFixture fixture;
    private final Map<String, CountDownLatch> calls = new ConcurrentHashMap<>();
    private final List<Redlock> clients = new ArrayList<>();
    private final List<EventLoopGroup> groups = new ArrayList<>();
    private final List<String> problems = new ArrayList<>();

    SnippetRun(JavaSnippet snippet, DocsFixture fixture) {
        this.snippet = snippet;
        this.fixture = fixture;
    }

    List<String> problems(Path folder) throws Exception {
        try (URLClassLoader loader = new URLClassLoader(new URL[]{folder.toUri().toURL()},
                getClass().getClassLoader())) {
            Class<?> type = Class.forName(snippet.className(), true, loader);
            within(() -> {
                if (snippet.isType()) {
                    runType(type);
                } else {
                    runBody(type);
                }
            });
            if (problems.isEmpty()) {
                look();
            }
        }
        return problems;
    }

    /** Something that a block does, and that may go wrong in its way. */
    @FunctionalInterface
    private interface Action {
        void run() throws Exception;
    }

    private void within(Action action) throws InterruptedException {
        FutureTask<Void> task = new FutureTask<>(() -> {
            action.run();
            return null;
        });
        Thread thread = new Thread(task, "snippet");
        thread.setDaemon(true);
        thread.start();
        try {
            task.get(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            problems.add("still runs after " + LIMIT + ": " + Arrays.toString(thread.getStackTrace()));
            thread.interrupt();
        } catch (java.util.concurrent.ExecutionException e) {
            Throwable cause = e.getCause() instanceof InvocationTargetException thrown
                    ? thrown.getCause()
                    : e.getCause();
            problems.add("threw " + cause);
        }
    }

    /** A program is run, and has to say something; any other type is made. */
    private void runType(Class<?> type) throws Exception {
        Method main = Arrays.stream(type.getMethods()).filter(m -> m.getName().equals("main")).findAny().orElse(null);
        if (main == null) {
            for (Constructor<?> constructor : type.getConstructors()) {
                if (constructor.getParameterCount() == 0) {
                    constructor.newInstance();
                }
            }
            return;
        }
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(said, true, StandardCharsets.UTF_8));
        try {
            main.invoke(null, (Object) new String[0]);
        } finally {
            System.setOut(before);
        }
        if (said.size() == 0) {
            problems.add("main printed nothing");
        }
    }

    private void runBody(Class<?> type) throws Exception {
        List<Object> arguments = new ArrayList<>();
        snippet.given().forEach((name, kind) -> arguments.add(given(kind, name)));
        arguments.add((Consumer<Object>) this::opened);
        Method body = Arrays.stream(type.getDeclaredMethods())
                .filter(method -> method.getName().equals(JavaSnippet.METHOD))
                .findAny()
                .orElseThrow();
        body.setAccessible(true);
        Constructor<?> constructor = type.getDeclaredConstructor();
        constructor.setAccessible(true);
        body.invoke(constructor.newInstance(), arguments.toArray());
    }

    private Object given(String type, String name) {
        return switch (type) {
            case "Redlock" -> client(fixture.connect());
            case "Runnable" -> (Runnable) () -> called(name);
            case "AcquireCallback" -> (AcquireCallback) outcome -> called(name);
            case "ReleaseCallback" -> (ReleaseCallback) (lease, outcome) -> called(name);
            case "java.util.function.LongConsumer" -> (LongConsumer) number -> called(name);
            case "java.util.function.BiConsumer<String, Number>" ->
                (BiConsumer<String, Number>) (text, number) -> called(name);
            case "java.util.function.Consumer<String>" -> (Consumer<String>) text -> called(name);
            case "java.util.function.BooleanSupplier" -> (BooleanSupplier) () -> isAnyUncalled();
            case "io.netty.channel.EventLoopGroup" -> group();
            case "io.micrometer.core.instrument.MeterRegistry" -> new SimpleMeterRegistry();
            case "io.micrometer.observation.ObservationRegistry" -> observations();
            case "java.util.function.Supplier<char[]>" -> (Supplier<char[]>) "PASSWORD"::toCharArray;
            case "String" -> name;
            case "String[]" -> fixture.addresses();
            default -> throw new AssertionError("nothing is given for '" + type + " " + name
                    + "': use a type that SnippetRun.given knows, or add it there");
        };
    }

    /** A registry without handlers observes nothing. */
    private static ObservationRegistry observations() {
        ObservationRegistry registry = ObservationRegistry.create();
        registry.observationConfig().observationHandler(new DefaultMeterObservationHandler(new SimpleMeterRegistry()));
        return registry;
    }

    private void called(String name) {
        latch(name).countDown();
    }

    private CountDownLatch latch(String name) {
        return calls.computeIfAbsent(name, any -> new CountDownLatch(1));
    }

    /** What has to be called: whatever can be, but for what the block may leave idle. */
    private List<String> callable() {
        Set<String> idle = Set.of(snippet.block().note(DocBlock.MAY_STAY_IDLE).split(", "));
        return snippet.given()
                .entrySet()
                .stream()
                .filter(given -> given.getValue().matches("Runnable|.*(Callback|Consumer.*)"))
                .map(Map.Entry::getKey)
                .filter(name -> !idle.contains(name))
                .toList();
    }

    private boolean isAnyUncalled() {
        return callable().stream().anyMatch(name -> latch(name).getCount() > 0);
    }

    private Redlock client(Redlock client) {
        clients.add(client);
        return client;
    }

    private EventLoopGroup group() {
        EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        groups.add(group);
        return group;
    }

    /** A client that the block has opened is closed behind it; options that it has put together are tried. */
    private void opened(Object opened) {
        client(opened instanceof RedlockContext context ? Redlock.connect(context) : (Redlock) opened);
    }

    private void look() throws InterruptedException {
        for (String name : callable()) {
            if (!latch(name).await(LIMIT.toMillis(), TimeUnit.MILLISECONDS)) {
                problems.add("never called " + name);
            }
        }
        for (Redlock client : clients) {
            AcquireOutcome outcome = client.acquire("docs/tried", TTL);
            if (outcome.isAcquired()) {
                outcome.lease().close();
            }
            for (AcquireOutcome.Kind kind : AcquireOutcome.Kind.values()) {
                boolean isGood = kind == AcquireOutcome.Kind.ACQUIRED || kind == AcquireOutcome.Kind.CANCELLED;
                if (!isGood && client.counters().outcomeCount(kind) > 0) {
                    problems.add("an acquisition ended as " + kind + ": " + client);
                }
            }
            if (!client.closeWithin(LIMIT).isClean()) {
                problems.add("not every release was confirmed: " + client);
            }
        }
    }

    @Override
    public void close() {
        clients.forEach(Redlock::close);
        groups.forEach(group -> group.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly());
    }
}
