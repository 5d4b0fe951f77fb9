package dev.redlock.loadtest.docs;

import dev.redlock.Redlock;
import dev.redlock.RedlockContext;
import dev.redlock.transport.NodeAddress;
import dev.redlock.trial.nodes.RedisNode;
import dev.redlock.trial.nodes.RedisNodes;
import dev.redlock.trial.nodes.RedisNodesContext;
import dev.redlock.trial.nodes.RequiredNodes;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Three real nodes for the blocks of the documents, which are new and know the user of the page on operations, and all
 * that the client logs with an exception.
 */
final class DocsFixture implements AutoCloseable {
    /** The addresses that documents use, whose digit counts the nodes from 1. */
    private static final Pattern ADDRESS = Pattern.compile("127\\.0\\.0\\.1:700([1-3])|10\\.0\\.0\\.([1-3]):6379");

    private final Logger logger = Logger.getLogger("dev.redlock");
    private final Thrown thrown = new Thrown();
    private RedisNodes nodes;

    DocsFixture() {
        logger.addHandler(thrown);
        logger.setUseParentHandlers(false);
    }

    private void start() {
        if (nodes == null) {
            nodes = RequiredNodes.start(new RedisNodesContext().count(3));
            for (RedisNode node : nodes.nodes()) {
                userOfThePage().forEach(line -> node.call(line.split(" ")));
            }
        }
    }

    private static List<String> userOfThePage() {
        try {
            return DocBlock.in(DocPages.root().resolve("docs/guides/operations.md"))
                    .stream()
                    .flatMap(block -> block.lines().stream())
                    .filter(line -> line.startsWith("ACL SETUSER "))
                    .toList();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** The error of a block, compiled and run; empty if there is none. */
    List<String> problems(JavaSnippet snippet, Path folder) throws Exception {
        if (!snippet.block().isRun()) {
            return snippet.compile(folder, text -> text);
        }
        start();
        List<String> errors = snippet.compile(folder, this::withPlaces);
        if (!errors.isEmpty()) {
            return errors;
        }
        List<String> problems = run(snippet, folder);
        if (!problems.isEmpty()) {
            System.err.println(snippet.block().place() + ": a second try, because " + problems);
            problems = run(snippet, folder);
        }
        return problems;
    }

    /** Clients with all defaults give a node 50 ms, which a busy machine may miss once. */
    private List<String> run(JavaSnippet snippet, Path folder) throws Exception {
        nodes.nodes().forEach(node -> node.call("FLUSHALL"));
        thrown.texts.clear();
        try (SnippetRun run = new SnippetRun(snippet, this)) {
            List<String> problems = new ArrayList<>(run.problems(folder));
            problems.addAll(thrown.texts);
            return problems;
        }
    }

    /** The text with the addresses of the nodes in place of those that documents use. */
    private String withPlaces(String text) {
        return ADDRESS.matcher(text).replaceAll(found -> {
            String digit = found.group(1) == null ? found.group(2) : found.group(1);
            return Matcher.quoteReplacement(addresses()[Integer.parseInt(digit) - 1]);
        });
    }

    String[] addresses() {
        return nodes.nodes().stream().map(RedisNode::address).map(NodeAddress::toString).toArray(String[]::new);
    }

    Redlock connect() {
        return Redlock.connect(context());
    }

    private RedlockContext context() {
        return new RedlockContext().nodes(addresses()).nodeTimeout(Duration.ofSeconds(2));
    }

    @Override
    public void close() {
        logger.removeHandler(thrown);
        logger.setUseParentHandlers(true);
        if (nodes != null) {
            nodes.close();
        }
    }

    /** What the client says of callbacks that threw. */
    private static final class Thrown extends Handler {
        private final List<String> texts = new CopyOnWriteArrayList<>();

        @Override
        public void publish(LogRecord entry) {
            if (entry.getThrown() != null) {
                texts.add(entry.getMessage() + ": " + entry.getThrown());
            }
        }

        @Override
        public void flush() {
            // Nothing is buffered.
        }

        @Override
        public void close() {
            // Nothing is open.
        }
    }
}
