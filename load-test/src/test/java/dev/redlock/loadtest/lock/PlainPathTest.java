package dev.redlock.loadtest.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.jdi.Bootstrap;
import com.sun.jdi.Method;
import com.sun.jdi.ThreadReference;
import com.sun.jdi.VMDisconnectedException;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.connect.Connector;
import com.sun.jdi.connect.LaunchingConnector;
import com.sun.jdi.event.BreakpointEvent;
import com.sun.jdi.event.ClassPrepareEvent;
import com.sun.jdi.event.Event;
import com.sun.jdi.event.EventSet;
import com.sun.jdi.event.MethodEntryEvent;
import com.sun.jdi.event.MethodExitEvent;
import com.sun.jdi.request.ClassPrepareRequest;
import com.sun.jdi.request.EventRequest;
import com.sun.jdi.request.EventRequestManager;
import com.sun.jdi.request.MethodEntryRequest;
import com.sun.jdi.request.MethodExitRequest;
import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.api.Lease;
import dev.redlock.api.NodeState;
import dev.redlock.api.RestartGuardMode;
import dev.redlock.resp.RespParser;
import dev.redlock.testing.Await;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RequiredNodes;
import dev.redlock.trial.nodes.Source;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What a reader passes who follows an acquire, an extension and a release of a plain lock, and what a thread calls
 * there: counted by a debugger on a client of three real servers. A feature that enters the plain path shows here.
 */
class PlainPathTest {

    private static final int CYCLES = 20;
    private static final int TYPES_MAX = 35;
    private static final int LINES_MAX = 6_720;
    private static final int CALLS_MAX = 480;
    private static final int CALLS_INTO_OTHERS_MAX = 290;
    /** The thread of an event loop that waits for work. */
    private static final String LOOP = "dev.redlock.engine.EventLoopRunner";
    /**
     * They begin what is no part of a lock: the task of all timers, none of which is due in a lock that ends soon, and
     * the thread that watches the event loop, with its tasks there.
     */
    private static final Set<String> BESIDE_LOCKS = Set.of("dev.redlock.time.LoopTimers",
            "dev.redlock.engine.StallWatch");
    /** What an event loop does with one of them serves a connection. On a busy machine, most cycles contain that. */
    private static final Set<String> OF_CONNECTIONS = Set.of("dev.redlock.node.Node",
            "dev.redlock.node.NodeMonitor", "dev.redlock.telemetry.Log");
    private static final String NOT_COUNTED = "";

    /** A client whose calls are counted. Each call of {@link #mark} begins a cycle. */
    static final class Program {

        private static final Duration TTL = Duration.ofMinutes(1);

        private Program() {
        }

        public static void main(String[] addresses) throws InterruptedException, IOException {
            try (Redlock redlock = Redlock.connect(new RedlockContext().nodes(addresses)
                    .restartGuard(RestartGuardMode.OFF)
                    .clockSampleInterval(Duration.ofMinutes(1))
                    .connectTimeout(Duration.ofMinutes(1))
                    .nodeTimeout(Duration.ofSeconds(30)))) {
                Await.until("all nodes are ready", () -> redlock.nodes()
                        .stream()
                        .allMatch(node -> node.state() == NodeState.READY));
                for (int i = 0; i < 2 * CYCLES; i++) {
                    mark();
                    Lease lease = redlock.tryAcquire("orders", TTL).lease();
                    if (i < CYCLES) {
                        lease.extend(TTL);
                    }
                    lease.release();
                }
                mark();
                // The debugger reads the events meanwhile, and then ends this process.
                System.in.read();
            }
        }

        private static void mark() {
            // The debugger sees the call.
        }
    }

    /** The calls from one mark to the next, or those of one task of a thread. */
    private static final class Cycle {

        private final Set<String> types = new HashSet<>();
        private int calls;
        private int callsIntoOthers;

        void add(Cycle task) {
            types.addAll(task.types);
            calls += task.calls;
            callsIntoOthers += task.callsIntoOthers;
        }
    }

    private static final class Recorder {

        private final List<Cycle> cycles = new ArrayList<>();
        private final Map<ThreadReference, Deque<String>> stacks = new HashMap<>();
        private final Map<ThreadReference, Cycle> tasks = new HashMap<>();

        void onEntry(ThreadReference thread, Method method) {
            String type = method.declaringType().name().replaceAll("\\$.*", "");
            if (isOwn(method)) {
                if (method.name().equals("mark")) {
                    cycles.add(new Cycle());
                }
                return;
            }
            Deque<String> stack = stacks.computeIfAbsent(thread, any -> new ArrayDeque<>());
            String caller = stack.peek();
            boolean isFirst = caller == null || caller.equals(LOOP);
            boolean isCounted = !type.equals(LOOP) && !NOT_COUNTED.equals(caller)
                    && !(isFirst && BESIDE_LOCKS.contains(type));
            stack.push(isCounted || type.equals(LOOP) ? type : NOT_COUNTED);
            if (isCounted) {
                Cycle task = tasks.computeIfAbsent(thread, any -> new Cycle());
                task.types.add(type);
                task.calls++;
                task.callsIntoOthers += isFirst || caller.equals(type) ? 0 : 1;
            }
        }

        void onExit(ThreadReference thread, Method method) {
            Deque<String> stack = stacks.get(thread);
            if (stack != null && !stack.isEmpty() && !isOwn(method)) {
                stack.pop();
                if (stack.isEmpty() || stack.peek().equals(LOOP)) {
                    endTask(tasks.remove(thread));
                }
            }
        }

        private void endTask(Cycle task) {
            if (task != null && Collections.disjoint(task.types, OF_CONNECTIONS)) {
                cycles.get(cycles.size() - 1).add(task);
            }
        }

        private static boolean isOwn(Method method) {
            return method.declaringType().name().startsWith(PlainPathTest.class.getName());
        }
    }

    private static List<Cycle> record(String[] addresses) throws Exception {
        LaunchingConnector launcher = Bootstrap.virtualMachineManager().defaultConnector();
        Map<String, Connector.Argument> arguments = launcher.defaultArguments();
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        arguments.get("options").setValue("-XX:TieredStopAtLevel=1 -cp \"" + classPath + "\"");
        arguments.get("main").setValue(Program.class.getName() + " " + String.join(" ", addresses));
        VirtualMachine machine = launcher.launch(arguments);
        try {
            ClassPrepareRequest prepared = machine.eventRequestManager().createClassPrepareRequest();
            prepared.addClassFilter(Program.class.getName());
            prepared.enable();
            Recorder recorder = new Recorder();
            while (recorder.cycles.size() <= 2 * CYCLES) {
                EventSet events = machine.eventQueue().remove();
                for (Event event : events) {
                    record(event, recorder, machine.eventRequestManager());
                }
                events.resume();
            }
            return recorder.cycles;
        } catch (VMDisconnectedException e) {
            throw new AssertionError(new String(machine.process().getErrorStream().readAllBytes()), e);
        } finally {
            machine.process().destroyForcibly();
        }
    }

    private static void recordAll(EventRequestManager requests) {
        MethodEntryRequest entries = requests.createMethodEntryRequest();
        entries.addClassFilter("dev.redlock.*");
        entries.setSuspendPolicy(EventRequest.SUSPEND_NONE);
        entries.enable();
        MethodExitRequest exits = requests.createMethodExitRequest();
        exits.addClassFilter("dev.redlock.*");
        exits.setSuspendPolicy(EventRequest.SUSPEND_NONE);
        exits.enable();
    }

    /** While calls are recorded, the program is slow, so this begins with the first mark. */
    private static void record(Event event, Recorder recorder, EventRequestManager requests) {
        if (event instanceof ClassPrepareEvent prepared) {
            Method mark = prepared.referenceType().methodsByName("mark").get(0);
            requests.createBreakpointRequest(mark.location()).enable();
        } else if (event instanceof BreakpointEvent first) {
            first.request().disable();
            recorder.cycles.add(new Cycle());
            recordAll(requests);
        } else if (event instanceof MethodEntryEvent entry && isCounted(entry.method())) {
            recorder.onEntry(entry.thread(), entry.method());
        } else if (event instanceof MethodExitEvent exit && isCounted(exit.method())) {
            recorder.onExit(exit.thread(), exit.method());
        }
    }

    /** What has no line in a file, as a method that JFR generates, is nothing to read. */
    private static boolean isCounted(Method method) {
        return !method.isConstructor() && !method.isStaticInitializer() && method.location().lineNumber() > 0;
    }

    /** The types of more than half of the cycles: others serve now and then a thread that the machine has stalled. */
    private static Set<String> typesOf(List<Cycle> cycles) {
        Map<String, Integer> counts = new TreeMap<>();
        cycles.forEach(cycle -> cycle.types.forEach(type -> counts.merge(type, 1, Integer::sum)));
        counts.values().removeIf(count -> count <= cycles.size() / 2);
        return new TreeSet<>(counts.keySet());
    }

    private static int median(List<Cycle> cycles, ToIntFunction<Cycle> figure) {
        return cycles.stream().mapToInt(figure).sorted().skip(cycles.size() / 2).findFirst().orElseThrow();
    }

    private static long lines(String type) {
        String file = "src/main/java/" + type.replace('.', '/') + ".java";
        Path found = Stream.of("../redlock-core", "../resp-codec")
                .map(module -> Path.of(module).resolve(file))
                .filter(Files::exists)
                .findFirst()
                .orElseThrow(() -> new AssertionError(type));
        try (Stream<String> all = Files.lines(found)) {
            return all.count();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    @Timeout(900)
    void aPlainLockPassesFewTypesAndCalls() throws Exception {
        List<Cycle> cycles;
        try (RedisNodes nodes = RequiredNodes.start(Source.PATH, 3)) {
            cycles = record(nodes.addresses());
        }
        assertEquals(2 * CYCLES + 1, cycles.size());
        // The first cycle initializes classes.
        Set<String> types = typesOf(cycles.subList(1, CYCLES));
        List<Cycle> withoutExtension = cycles.subList(CYCLES, 2 * CYCLES);
        long lines = types.stream().mapToLong(PlainPathTest::lines).sum();
        int calls = median(withoutExtension, cycle -> cycle.calls);
        int others = median(withoutExtension, cycle -> cycle.callsIntoOthers);
        String found = types.size() + " types, " + lines + " lines, " + calls + " calls, " + others
                + " into another type: " + types;
        assertTrue(types.containsAll(Set.of(Redlock.class.getName(), RespParser.class.getName())), found);
        assertTrue(types.size() <= TYPES_MAX, found);
        assertTrue(lines <= LINES_MAX, found);
        assertTrue(calls <= CALLS_MAX, found);
        assertTrue(others <= CALLS_INTO_OTHERS_MAX, found);
        assertFalse(types.stream().anyMatch(type -> type.matches(".*\\.(Retain|Permit|Set|Fenc).*")), found);
    }
}
