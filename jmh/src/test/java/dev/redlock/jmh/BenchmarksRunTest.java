package dev.redlock.jmh;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.BenchmarkList;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.format.OutputFormatFactory;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Every benchmark runs and finds its own result right. How long it takes is nobody's concern here. */
class BenchmarksRunTest {

    @Test
    void everyBenchmarkRunsAndChecksItself() throws RunnerException {
        // Another build on this machine may run it at the same time: nothing here is a measurement.
        System.setProperty("jmh.ignoreLock", "true");
        Set<String> known = new TreeSet<>();
        BenchmarkList.defaultList()
                .getAll(OutputFormatFactory.createFormatInstance(System.out, VerboseMode.SILENT), List.of())
                .forEach(benchmark -> known.add(benchmark.getUsername()));
        Collection<RunResult> results = new Runner(new OptionsBuilder().forks(0)
                .warmupIterations(0)
                .measurementIterations(1)
                .measurementTime(TimeValue.milliseconds(20))
                .timeout(TimeValue.seconds(60))
                .param("nodeCount", "3")
                .verbosity(VerboseMode.SILENT)
                .shouldFailOnError(true)
                .timeUnit(TimeUnit.NANOSECONDS)
                .build()).run();
        Set<String> ran = new TreeSet<>();
        results.forEach(result -> ran.add(result.getParams().getBenchmark()));
        assertEquals(known, ran);
        assertTrue(ran.stream().anyMatch(name -> name.contains("CallbackCycleBenchmark")), ran::toString);
        for (String name : ran) {
            String type = name.substring(0, name.lastIndexOf('.'));
            assertTrue(
                    ran.stream()
                            .anyMatch(other -> other.startsWith(type) && other.matches(".*(baseline|netty|lettuce).*")),
                    type + " has no baseline");
        }
    }
}
