package dev.redlock.loadtest.cli;

import dev.redlock.cli.ExitCodes;
import dev.redlock.cli.Options;
import dev.redlock.cli.Program;
import dev.redlock.cli.TlsFileOptions;
import dev.redlock.transport.NodeAddress;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.Source;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** @threading caller-confined */
@Command(name = "nodes", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        description = "Starts nodes on this machine, prints their addresses and runs until Ctrl-C, which stops "
                + "them and removes their files. They listen on loopback only.",
        footer = {"  load-test nodes                     three nodes",
            "  load-test nodes 5 --append-only     five that keep their data over a restart",
            "  load-test nodes 3 --tls             three that listen with TLS too",
            "  load-test nodes 3 --config 'requirepass secret'"})
public final class NodesCommand implements Callable<Integer> {
    @Parameters(paramLabel = "N", arity = "0..1", defaultValue = "3",
            description = "How many, 1 to 63 (default: ${DEFAULT-VALUE}).")
    private int count;

    @Option(names = "--source", paramLabel = "SOURCE",
            description = "Source of the server binary: path, embedded or container (default: the first that works).")
    private Source source;

    @Mixin
    private PinOption pin;

    @Option(names = "--append-only", description = "Write every command through to disk.")
    private boolean appendOnly;

    @Option(names = "--unix-sockets", description = "Listen on a Unix socket too.")
    private boolean unixSockets;

    @Option(names = "--tls", description = "Listen with TLS too, and require a client certificate there. The command "
            + "prints the files for clients, which it removes at its end.")
    private boolean tls;

    @Option(names = "--config", paramLabel = "LINE",
            description = "A line to add to the configuration of every node; may be repeated.")
    private List<String> config = List.of();

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        CommandLine line = spec.commandLine();
        Options.require(line, count >= 1 && count <= RedisNodesContext.COUNT_MAX,
                "N is " + count + ": expected 1 to " + RedisNodesContext.COUNT_MAX + " nodes");
        Options.require(line, source != Source.GIVEN, "--source given: this command starts nodes");
        pin.check(line);
        RedisNodesContext context = new RedisNodesContext().count(count)
                .pin(pin.pin())
                .appendOnly(appendOnly)
                .unixSocket(unixSockets)
                .tls(tls);
        config.forEach(context::config);
        if (source != null) {
            context.source(source);
        }
        try (RedisNodes nodes = RedisNodes.start(context)) {
            print(nodes);
            // The shutdown hook stops the nodes.
            new CountDownLatch(1).await();
        }
        return ExitCodes.GOOD;
    }

    private void print(RedisNodes nodes) {
        PrintWriter out = spec.commandLine().getOut();
        out.println(nodes.choice());
        out.println();
        for (RedisNode node : nodes.nodes()) {
            String pid = node.pid().isPresent() ? "  process " + node.pid().getAsLong() : "";
            out.println(node.address() + node.unixSocket().map(file -> "  unix://" + file).orElse("")
                    + node.tlsAddress().map(address -> "  " + address).orElse("") + pid);
        }
        out.println();
        if (tls) {
            out.println("With TLS: " + Program.quoted(TlsFileOptions.arguments(nodes.tls())) + "\n");
        }
        List<NodeAddress> addresses = nodes.nodes().stream().map(RedisNode::address).toList();
        out.println("To measure on them: " + measuring(addresses));
        if (addresses.get(0).password() != null) {
            out.println("Replace PASSWORD by the password of the nodes.");
        }
        out.println("Ctrl-C stops them.");
        out.flush();
    }

    /** A command that measures on these nodes. It has a placeholder for their password. */
    static String measuring(List<NodeAddress> addresses) {
        String given = addresses.stream()
                .map(address -> address.password() == null ? address.toString() : "redis://:PASSWORD@" + address)
                .collect(Collectors.joining(","));
        return Invocation.PROGRAM.start() + " latency --fresh --addresses " + Program.quoted(List.of(given));
    }
}
