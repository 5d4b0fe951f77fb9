package dev.redlock.node;

import static dev.redlock.quorum.Validity.NS_PER_MS;

import dev.redlock.node.send.CommandSender;
import dev.redlock.resp.RespValue;
import java.util.function.Consumer;

/**
 * Repeats {@link RightsProbe} on a live connection while releases fail: the rights of the user may have changed after
 * the handshake. An error alone proves nothing, because the user may lack the right to one key only.
 *
 * @threading event-loop-confined
 */
final class RightsWatch {

    private static final long PERIOD_NS = 1_000 * NS_PER_MS;

    private final CommandSender sender;
    private final NodeOptions.Commands commands;
    private final Consumer<String> onMissing;
    private boolean isAsked;
    private long dueNs;

    /** The consumer gets the problem of a user who may not release locks any more. */
    RightsWatch(CommandSender sender, NodeContext context, Consumer<String> onMissing) {
        this.sender = sender;
        this.commands = context.options().commands();
        this.onMissing = onMissing;
        this.dueNs = context.clock().nanoTime();
    }

    /** Called regularly while the node is connected. */
    void onTick(long nowNs) {
        // In native mode, the user need not have a right to scripts.
        boolean areScriptsUsed = !commands.areScriptsOptional() || sender.capabilities().areScriptsNeeded();
        if (!sender.isConnected() || !sender.isReleaseForbidden() || isAsked || dueNs - nowNs > 0 || !areScriptsUsed) {
            return;
        }
        dueNs = nowNs + PERIOD_NS;
        isAsked = sender.sendValue(sender.scriptLoad(RightsProbe.SOURCE), reply -> {
        }) && sender.sendValue(sender.command("EVALSHA", RightsProbe.SHA, "0", commands.ownKey()), this::onReply);
    }

    private void onReply(RespValue reply) {
        isAsked = false;
        String problem = reply == null ? null : new RightsProbe(reply).problem();
        if (problem != null && sender.isConnected()) {
            onMissing.accept(problem);
        }
    }
}
