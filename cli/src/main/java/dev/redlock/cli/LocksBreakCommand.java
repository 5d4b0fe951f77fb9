package dev.redlock.cli;

import dev.redlock.engine.LockValue;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Function;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * Frees a lock by its value: each node deletes the key only if it has exactly that value.
 *
 * @threading caller-confined
 */
@Command(name = "break", mixinStandardHelpOptions = true, versionProvider = BuildVersion.class, sortOptions = false,
        description = {"Frees a lock by the id of its value. Each node deletes the key only if it still has that "
                + "value, so a lock that another client has acquired meanwhile stays.",
            "The holder gets no message. It relies on its lease until the validity ends, its next extension fails, or "
                    + "a node reports the change to it (AcquireOptions.watchLoss). Until then two clients may use the "
                    + "resource, unless it checks fencing tokens. Stop the holder first if you can."},
        footer = {"  redlock locks break orders/42 3f9a01c2 --nodes a:6379,b:6379",
            "  redlock locks break orders/42 3f9a01c2 --yes"})
final class LocksBreakCommand implements Callable<Integer> {

    private static final String ID_RULE = "expected the " + LockValue.ID_LENGTH
            + " hexadecimal digits that locks show prints, or the whole value in hexadecimal";

    @Parameters(index = "0", paramLabel = "KEY",
            description = "Name of the lock, with the key prefix of the clients.")
    private String key;

    @Parameters(index = "1", paramLabel = "ID", description = "Id of the value to delete, from locks list or show; or "
            + "the whole value in hexadecimal.")
    private String id;

    @Option(names = "--yes", description = "Do not ask.")
    private boolean yes;

    @Mixin
    private LocksOptions options;

    @Spec
    private CommandSpec spec;

    /** Asks a question, and returns the answer; null without a terminal. Replaced by tests. */
    private Function<String, String> terminal = LocksBreakCommand::ask;

    LocksBreakCommand() {
        // picocli fills the fields.
    }

    void terminal(Function<String, String> newTerminal) {
        terminal = newTerminal;
    }

    private static String ask(String question) {
        return Terminals.isInteractive() ? System.console().readLine("%s", question) : null;
    }

    @Override
    public Integer call() throws IOException {
        LocksOptions.requireKey(spec.commandLine(), key);
        Options.require(spec.commandLine(), id.matches("[0-9a-fA-F]{" + LockValue.ID_LENGTH + ",}"),
                "ID is \"" + LocksText.cut(id, 40) + "\": " + ID_RULE);
        Options.require(spec.commandLine(), yes || !options.isJson(), "--json does not ask: add --yes");
        try (LockNodes nodes = options.connect(spec.commandLine())) {
            LockView view = nodes.read(key);
            List<LockValue> meant = view.holders().keySet().stream().filter(value -> value.isMeantBy(id)).toList();
            if (meant.size() != 1) {
                return refuse(nodes, view, meant.size());
            }
            if (!options.isJson()) {
                LocksText.printProblems(out(), nodes);
                LocksText.printOne(out(), view, nodes, options.areValuesShown());
                explain(view, meant.get(0));
                if (!yes && !isConfirmed()) {
                    out().println("Nothing was changed.");
                    return ExitCodes.FAILED;
                }
            }
            return free(nodes, view, meant.get(0));
        }
    }

    private PrintWriter out() {
        return spec.commandLine().getOut();
    }

    private int refuse(LockNodes nodes, LockView view, int count) {
        PrintWriter err = spec.commandLine().getErr();
        LocksText.printProblems(err, nodes);
        List<String> ids = view.holders().keySet().stream().map(LockValue::id).toList();
        String has = ids.isEmpty()
                ? "the nodes that answer have no value"
                : "the nodes have " + String.join(" and ", ids);
        err.println(count == 0
                ? "no node has value " + id + " of " + view.shownName() + ": " + has
                        + "; the lock was released or has another holder. Nothing was changed."
                : count + " values of " + view.shownName() + " have the id " + id
                        + ": give the whole value, which --values shows. Nothing was changed.");
        return ExitCodes.FAILED;
    }

    private void explain(LockView view, LockValue value) {
        out().println();
        if (view.stateOf(value) == LockView.State.NO_QUORUM) {
            out().println("Too few nodes have this value for a lock. It has no holder, unless one is acquiring it.");
            return;
        }
        long ms = view.longestMs(value);
        String atMost = ms == KeyReading.NO_EXPIRY ? "" : "at most " + LocksText.duration(ms) + " from now, ";
        out().println("Its holder gets no message. It may use the resource until its lease ends,");
        out().println(atMost + "or until its next extension fails.");
        out().println("Another client can acquire the lock at once.");
    }

    private boolean isConfirmed() {
        String answer = terminal.apply("Delete this value? Type yes: ");
        Options.require(spec.commandLine(), answer != null,
                "there is no terminal to ask for confirmation: add --yes to delete the value");
        return answer.strip().equalsIgnoreCase("yes");
    }

    private int free(LockNodes nodes, LockView before, LockValue value) {
        List<Boolean> deleted = nodes.release(before.name(), value);
        LockView after = nodes.read(key);
        boolean isGone = after.stateOf(value) == LockView.State.NO_QUORUM;
        if (options.isJson()) {
            out().println(Json.text(json(nodes, after, value, deleted, isGone)));
        } else {
            printResult(nodes, after, value, deleted, isGone);
        }
        out().flush();
        return isGone ? ExitCodes.GOOD : ExitCodes.FAILED;
    }

    private List<String> results(LockNodes nodes, LockView after, LockValue value, List<Boolean> deleted) {
        List<String> results = new ArrayList<>();
        for (int i = 0; i < deleted.size(); i++) {
            KeyReading now = after.readings().get(i);
            if (deleted.get(i) == null) {
                results.add("no answer: it may still have the value (" + nodes.nodes().get(i).problem() + ")");
            } else if (deleted.get(i)) {
                results.add(now == null || now.value() == null || !now.value().equals(value)
                        ? "deleted"
                        : "deleted, and set again by its holder");
            } else {
                results.add(now == null || now.value() == null
                        ? "did not have it"
                        : "has another value, which stays: " + now.value().id());
            }
        }
        return results;
    }

    private void printResult(LockNodes nodes, LockView after, LockValue value, List<Boolean> deleted,
            boolean isGone) {
        List<String> results = results(nodes, after, value, deleted);
        for (int i = 0; i < results.size(); i++) {
            out().println(nodes.nodes().get(i).address() + "  " + results.get(i));
        }
        long left = deleted.stream().filter(answer -> answer == null).count();
        if (!isGone) {
            out().println("Not freed: " + (left == 0
                    ? "its holder extends it. Stop the holder, and try again."
                    : "nodes without an answer may still have the value. Repeat this when they answer, or wait until"
                            + " it expires."));
            return;
        }
        LockValue next = after.holders()
                .keySet()
                .stream()
                .filter(other -> after.stateOf(other) == LockView.State.HELD)
                .findFirst()
                .orElse(null);
        out().println(next == null
                ? "Freed: no quorum of nodes has value " + value.id() + " any more."
                : "Freed, and acquired by " + (next.holder() == null ? "another client" : next.holder()) + ": id "
                        + next.id() + ".");
    }

    private Map<String, Object> json(LockNodes nodes, LockView after, LockValue value, List<Boolean> deleted,
            boolean isGone) {
        Map<String, Object> root = LocksJson.root(nodes);
        root.put("freed", isGone);
        List<String> texts = results(nodes, after, value, deleted);
        List<Map<String, Object>> results = new ArrayList<>();
        for (int i = 0; i < texts.size(); i++) {
            Map<String, Object> result = new LinkedHashMap<>();
            result.put("address", nodes.nodes().get(i).address().toString());
            result.put("deleted", deleted.get(i));
            result.put("result", texts.get(i));
            results.add(result);
        }
        root.put("results", results);
        root.put("locks", LocksJson.locks(nodes, List.of(after), options.areValuesShown()));
        return root;
    }
}
