package dev.redlock.loadtest.cli;

import dev.redlock.cli.ExitCodes;
import dev.redlock.loadtest.report.HtmlReport;
import dev.redlock.loadtest.result.RunFolder;
import dev.redlock.loadtest.result.RunResult;
import dev.redlock.loadtest.result.Verdict;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/**
 * The base of the commands whose runs leave a folder with results and a report. The verdict becomes the exit code.
 *
 * @threading caller-confined, except for the action of {@link #cancelAtEnd}
 */
public abstract class RunCommand implements Callable<Integer> {
    private static final long END_LIMIT_SECONDS = 15;

    @Spec
    private CommandSpec spec;

    private final CountDownLatch ended = new CountDownLatch(1);

    /** Carries out a run on nodes, and records it. The folder comes first, so that a wrong one fails at once. */
    protected final int record(Path output, RedisNodesContext context) throws IOException, InterruptedException {
        RunFolder folder = folder(output);
        boolean isMeasured = false;
        try (RedisNodes nodes = RedisNodes.start(context)) {
            RunResult result = run(folder, nodes);
            isMeasured = true;
            folder.finish(result);
            print(result, Files.writeString(folder.file("report.html", result.verdict()), HtmlReport.page(result)));
            return result.verdict() == Verdict.PASS ? ExitCodes.GOOD : ExitCodes.FAILED;
        } finally {
            if (!isMeasured) {
                folder.abandon();
            }
            ended.countDown();
        }
    }

    private RunFolder folder(Path output) {
        try {
            return RunFolder.open(output, line().getCommandName(), Instant.now());
        } catch (IOException e) {
            throw new CommandLine.ParameterException(line(), "--output: " + e.getMessage());
        }
    }

    protected abstract RunResult run(RunFolder folder, RedisNodes nodes) throws IOException, InterruptedException;

    protected abstract void print(RunResult result, Path report);

    /** Cancels the run on the shutdown of the JVM. It stops before the nodes, so that it does not report their end. */
    protected final void cancelAtEnd(RedisNodes nodes, Runnable cancel) {
        nodes.beforeEnd(() -> {
            cancel.run();
            try {
                if (!ended.await(END_LIMIT_SECONDS, TimeUnit.SECONDS)) {
                    line().getErr().println("load-test: the run did not stop in time");
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
    }

    protected final CommandLine line() {
        return spec.commandLine();
    }

    protected final PrintWriter out() {
        return line().getOut();
    }
}
