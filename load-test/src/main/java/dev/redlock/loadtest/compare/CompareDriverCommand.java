package dev.redlock.loadtest.compare;

import dev.redlock.cli.ExitCodes;
import dev.redlock.cli.TlsFileOptions;
import dev.redlock.loadtest.cli.ClientOptions;
import dev.redlock.loadtest.cli.LoadOptions;
import dev.redlock.loadtest.cli.OptionDefaults;
import dev.redlock.loadtest.driver.LockDriver;
import dev.redlock.loadtest.driver.SessionSpec;
import dev.redlock.loadtest.measure.Clients;
import dev.redlock.loadtest.measure.Lab;
import dev.redlock.loadtest.result.IntervalLog;
import dev.redlock.loadtest.result.RunFolder;
import dev.redlock.loadtest.result.SeriesResult;
import dev.redlock.loadtest.rig.LoadPlan;
import dev.redlock.loadtest.rig.LoadResult;
import dev.redlock.loadtest.rig.LoadTestRig;
import dev.redlock.transport.NodeAddress;
import java.io.EOFException;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** @threading caller-confined */
@Command(name = CompareDriverCommand.NAME, hidden = true, defaultValueProvider = OptionDefaults.class,
        description = "Started by compare: measures one driver, with tasks from standard input.")
public final class CompareDriverCommand implements Callable<Integer> {
    static final String NAME = "compare-driver";

    @Mixin
    private ClientOptions clientOptions;

    @Mixin
    private LoadOptions loadOptions;

    @Mixin
    private TlsFileOptions tlsFiles;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException, InterruptedException, ClassNotFoundException {
        loadOptions.check(spec.commandLine());
        LockDriver driver = clientOptions.drivers().get(0);
        try (ObjectOutputStream replies = new ObjectOutputStream(System.out)) {
            // Output of libraries must not mix with the replies.
            System.setOut(System.err);
            ObjectInputStream tasks = new ObjectInputStream(System.in);
            while (true) {
                replies.writeObject(reply(driver, (DriverTask) tasks.readObject()));
                // Otherwise the stream keeps every reply, in case a later one refers to it.
                replies.reset();
                replies.flush();
            }
        } catch (EOFException e) {
            // The parent has no more tasks.
            return ExitCodes.GOOD;
        }
    }

    private DriverReply reply(LockDriver driver, DriverTask task) throws InterruptedException {
        try (Clients clients = open(driver, task)) {
            return new DriverReply(run(driver, clients, task), null);
        } catch (IOException e) {
            return new DriverReply(null, e.getMessage());
        }
    }

    private Clients open(LockDriver driver, DriverTask task) throws IOException, InterruptedException {
        List<NodeAddress> addresses = task.addresses().stream().map(NodeAddress::parse).toList();
        SessionSpec.Tls tls = task.tlsAddresses().isEmpty()
                ? null
                : new SessionSpec.Tls(task.tlsAddresses().stream().map(NodeAddress::parse).toList(), tlsFiles.files());
        return Clients.open(driver, clientOptions.session(addresses, task.fresh(), tls, task.voters()),
                task.kind() == DriverTask.Kind.EXCLUSION_CHECK ? Lab.RIVAL_CLIENTS : clientOptions.clients());
    }

    private SeriesResult run(LockDriver driver, Clients clients, DriverTask task) throws InterruptedException {
        if (task.kind() == DriverTask.Kind.WARM_UP) {
            for (LoadPlan plan : loadOptions.warmUpPlans(clientOptions.isFenced())) {
                run(plan, clients, task, IntervalLog.NONE);
            }
            return null;
        }
        if (task.kind() == DriverTask.Kind.EXCLUSION_CHECK) {
            LoadResult result = run(Lab.contestPlan(loadOptions.ttl, clientOptions.isFenced()), clients, task,
                    IntervalLog.NONE);
            return result.series(task.spec(), Map.of(), List.of(), result.failures());
        }
        LoadPlan plan = loadOptions.plan(task.spec(), driver, clientOptions.isFenced()).costMeasured(true);
        Map<String, Long> before = clients.counters();
        LoadResult result;
        try (IntervalLog log = RunFolder.logInto(Path.of(task.folder()), task.startedAt(), task.spec())) {
            result = run(plan, clients, task, log);
        }
        return result.series(task.spec(), clients.countersSince(before), List.of(), result.failures());
    }

    private LoadResult run(LoadPlan plan, Clients clients, DriverTask task, IntervalLog log)
            throws InterruptedException {
        long zeroNs = System.nanoTime() - TimeUnit.MILLISECONDS.toNanos(task.offsetMs());
        return new LoadTestRig(plan.keyPrefix(task.keyPrefix()), clients.sessions()).run((elapsedNs, isMeasuring) -> {
            // The parent shows the progress.
        }, log, zeroNs);
    }
}
