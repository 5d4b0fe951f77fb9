package dev.redlock.node.send;

import dev.redlock.resp.RespCommand;
import io.netty.buffer.ByteBuf;

/**
 * Handles the errors of one node: it sends the command again by script, alone, or for another server of the cluster, or
 * reports the error to the request.
 *
 * @threading event-loop-confined
 */
final class CommandRetries {

    /** The next command is for a slot that the server imports. */
    private static final RespCommand ASKING = RespCommand.of("ASKING");
    private static final int ASKING_BYTES = 32;

    private final CommandSender sender;
    private final FanOut fanOut;
    private final int nodeIndex;
    private boolean isScriptLoading;
    /** The user may not run the script that finds out why a node refused an extension. */
    private boolean isExtendScriptForbidden;

    CommandRetries(CommandSender sender, FanOut fanOut) {
        this.sender = sender;
        this.fanOut = fanOut;
        this.nodeIndex = sender.nodeIndex;
    }

    /** Another connection has completed its handshake, maybe of another user. */
    void onHandshake() {
        isExtendScriptForbidden = false;
    }

    /** The key is missing, or has another token. The script finds out, and sets a missing key. */
    void onSetIfEqualRefused(LockRequest request, int tag) {
        CommandKind kind = RequestRing.kindOf(tag);
        int detail = RequestRing.detailOf(tag);
        request.onRefusedAhead(nodeIndex);
        boolean isSent = !isExtendScriptForbidden && sendAgain(request, kind, detail, false, false);
        if (!isSent && request.isKeyMissing()) {
            // A failed vote: nothing has shown that another client has the key.
            request.onFailed(nodeIndex, kind, detail,
                    isExtendScriptForbidden ? VoteFailure.NOPERM : VoteFailure.BACK_PRESSURE);
        } else if (!isSent) {
            sender.onReply(request, tag, 0);
        }
    }

    /** Sends a command again that the node has not executed; false if it is not wanted or cannot be sent. */
    private boolean sendAgain(LockRequest request, CommandKind kind, int detail, boolean isEval, boolean isAsking) {
        if (sender.refusalOf(kind) != VoteFailure.NONE || !request.isSecondTryWanted(kind, detail)) {
            return false;
        }
        return sendScript(request, kind, detail, isEval, isAsking);
    }

    void onError(LockRequest request, int tag, VoteFailure failure, String errorCode, SlotRedirect redirect) {
        if (redirect != null && follow(request, tag, redirect)) {
            return;
        }
        if (isMigrating(failure)) {
            sender.cluster.onMigration(request);
        }
        CommandKind kind = RequestRing.kindOf(tag);
        int detail = RequestRing.detailOf(tag);
        CommandEncoding encoding = RequestRing.encodingOf(tag);
        if (request.lockKind() == LockKind.PLAIN && isForbiddenAfterRefusal(kind, encoding, failure)) {
            isExtendScriptForbidden = true;
            if (!request.isKeyMissing()) {
                sender.onReply(request, tag, 0);
                return;
            }
        }
        boolean isUnknownScript = failure == VoteFailure.NOSCRIPT && !RequestRing.isSecondTry(tag);
        boolean isRejectedCommand = isReplacedByScript(tag, failure);
        if ((isUnknownScript || isRejectedCommand) && sendAgain(request, kind, detail, isUnknownScript, false)) {
            return;
        }
        if (encoding == CommandEncoding.SCRIPT && (isUnknownScript || isEvalForbidden(tag, failure))) {
            loadScript(request.lockKind(), kind);
        }
        String problem = sender.recordError(kind, failure, errorCode);
        request.onFailed(nodeIndex, kind, detail, failure);
        sender.logHealth(problem);
    }

    /** A cluster moves the slot to another server. */
    private boolean isMigrating(VoteFailure failure) {
        return failure == VoteFailure.TRYAGAIN && sender.cluster != null;
    }

    /**
     * Where SET IFEQ extends, the script follows a refusal only. The refusal counts if the user may not run it, unless
     * the key is missing as expected.
     */
    private boolean isForbiddenAfterRefusal(CommandKind kind, CommandEncoding encoding, VoteFailure failure) {
        return kind == CommandKind.EXTEND && encoding == CommandEncoding.SCRIPT && failure == VoteFailure.NOPERM
                && sender.capabilities().extendEncoding() == CommandEncoding.SET_IFEQ;
    }

    /** The node reported in its handshake that it has a command, and rejects it now: the script replaces it. */
    private static boolean isOptionalCommandRejected(CommandEncoding encoding, VoteFailure failure) {
        return encoding.isOptional() && (failure == VoteFailure.ERROR || failure == VoteFailure.NOPERM);
    }

    /** The script is not cached, and the user may not run EVAL in its place. */
    private static boolean isEvalForbidden(int tag, VoteFailure failure) {
        return RequestRing.isSecondTry(tag) && (failure == VoteFailure.NOPERM || failure == VoteFailure.ERROR);
    }

    /** Whether the node has rejected an optional command: it gets the script from now on. */
    boolean isReplacedByScript(int tag, VoteFailure failure) {
        CommandEncoding encoding = RequestRing.encodingOf(tag);
        boolean isRejected = isOptionalCommandRejected(encoding, failure);
        if (isRejected) {
            sender.setCapabilities(sender.capabilities().without(encoding));
        }
        return isRejected;
    }

    /**
     * The other nodes have decided, so the command is not worth sending again. Without this, a node whose reply is
     * always the last one would never get the script.
     */
    void loadScript(LockKind lock, CommandKind kind) {
        if (!isScriptLoading && sender.refusalOf(CommandKind.RELEASE) == VoteFailure.NONE) {
            isScriptLoading = sender.sendValue(sender.scriptLoad(ScriptSources.source(lock, kind)),
                    reply -> isScriptLoading = false);
        }
    }

    /**
     * Sends a redirected command to the other server, once. A release follows. A vote does not, because the slot is
     * silent from now on; a check follows {@code MOVED} alone, because it would register for a push where
     * {@code ASKING} is needed.
     */
    private boolean follow(LockRequest request, int tag, SlotRedirect redirect) {
        CommandKind kind = RequestRing.kindOf(tag);
        CommandSender target = targetOf(request, tag, redirect);
        boolean isFollowed = kind.isRelease() || kind == CommandKind.CHECK && !redirect.isAsk();
        return target != null && isFollowed
                && target.retries.sendAgain(request, kind, RequestRing.detailOf(tag), true, redirect.isAsk());
    }

    /** The server that gets a redirected command; null for none. */
    CommandSender targetOf(SlotKey key, int tag, SlotRedirect redirect) {
        CommandSender named = sender.cluster.onRedirect(key, redirect);
        return RequestRing.isSecondTry(tag) || named == sender ? null : named;
    }

    /** Sends a release that was kept and redirected; false if it cannot be sent. */
    boolean sendRedirected(UndeliveredRelease release, boolean isAsk) {
        return sender.refusalOf(CommandKind.RELEASE) == VoteFailure.NONE && send(release, true, isAsk);
    }

    /** The node cannot execute a batch because of one of its keys: each command is sent alone. */
    private void sendEach(CommandBatch commands, int tag, VoteFailure failure, String errorCode,
            SlotRedirect redirect) {
        CommandKind kind = commands.single;
        for (long left = commands.requestsOf(nodeIndex); left != 0; left &= left - 1) {
            int i = Long.numberOfTrailingZeros(left);
            LockRequest request = commands.request(i);
            // After TRYAGAIN the command may meet its first redirection.
            boolean isSent = redirect == null && sendAgain(request, kind, commands.detail(i), false, false);
            if (!isSent) {
                int singleTag = CommandSender.singleTag(commands, i, RequestRing.isSecondTry(tag));
                onError(request, singleTag, failure, errorCode, redirect);
            }
        }
        fanOut.onBatchOutcome(commands);
    }

    /**
     * The node has executed nothing of a batch: each acquire is sent alone, also for a lock that the other nodes have
     * granted. One whose release may have left is not sent. It is no refusal: the node may have refused another key.
     */
    void sendEachAcquire(CommandBatch commands) {
        for (long left = commands.requestsOf(nodeIndex); left != 0; left &= left - 1) {
            int i = Long.numberOfTrailingZeros(left);
            LockRequest request = commands.request(i);
            if (request.isSecondTryWanted(commands.kind, commands.detail(i))) {
                fanOut.sendAlone(request, commands.single, commands.detail(i), 1L << nodeIndex);
            } else {
                request.onFailed(nodeIndex, commands.single, commands.detail(i), VoteFailure.NONE);
            }
        }
        fanOut.onBatchOutcome(commands);
    }

    /** Sends a batch again with its script, without the requests that a later command has replaced. */
    private boolean sendAgain(CommandBatch commands) {
        long unwanted = 0;
        for (long left = commands.requestsOf(nodeIndex); left != 0; left &= left - 1) {
            int i = Long.numberOfTrailingZeros(left);
            LockRequest request = commands.request(i);
            if (!request.isSecondTryWanted(commands.single, commands.detail(i))) {
                unwanted |= 1L << i;
            }
        }
        if (sender.refusalOf(commands.kind) != VoteFailure.NONE || unwanted == commands.requestsOf(nodeIndex)) {
            return false;
        }
        commands.remove(unwanted, nodeIndex);
        boolean isSent = sendScript(commands);
        commands.onFailed(unwanted, nodeIndex, VoteFailure.NOSCRIPT);
        return isSent;
    }

    void onBatchError(CommandBatch commands, int tag, VoteFailure failure, String errorCode, SlotRedirect redirect) {
        // Without a permission for one key, a server refuses the call for all of them.
        boolean isForbiddenExtension = commands.kind == CommandKind.EXTEND_MANY && failure == VoteFailure.NOPERM;
        boolean isMigrating = isMigrating(failure);
        if (isMigrating) {
            sender.cluster
                    .onMigration(commands.request(Long.numberOfTrailingZeros(commands.requestsOf(nodeIndex))));
        }
        if (redirect != null || isMigrating || isForbiddenExtension) {
            sendEach(commands, tag, failure, errorCode, redirect);
            return;
        }
        boolean hasNoScript = failure == VoteFailure.NOSCRIPT;
        if (commands.kind == CommandKind.ACQUIRE_MANY && (hasNoScript || isReplacedByScript(tag, failure))) {
            // It is no script, whatever the server answers.
            sendEachAcquire(commands);
            return;
        }
        if (hasNoScript && !RequestRing.isSecondTry(tag) && sendAgain(commands)) {
            return;
        }
        if (hasNoScript || isEvalForbidden(tag, failure)) {
            loadScript(LockKind.PLAIN, commands.kind);
        }
        String problem = sender.recordError(commands.kind, failure, errorCode);
        commands.onFailed(nodeIndex, failure);
        fanOut.onBatchOutcome(commands);
        sender.logHealth(problem);
    }

    /** Sends a command by script to this node alone; false if it cannot be written. */
    private boolean sendScript(LockRequest request, CommandKind kind, int detail, boolean isSecondTry,
            boolean isAsking) {
        int scriptLength = isSecondTry ? ScriptSources.source(request.lockKind(), kind).length : 0;
        boolean isRegistering = kind.mayRegister && request.isWakeUpWanted && sender.isPushing;
        int room = LockScripts.roomFor(request, kind) + scriptLength + ASKING_BYTES;
        ByteBuf command = fanOut.batch.buffers.take(room, out -> {
            if (isRegistering) {
                WakeUpRequest.writeTo(out);
            } else if (isAsking) {
                ASKING.writeTo(out);
            }
            LockScripts.write(out, kind, request, isSecondTry);
        });
        if (command == null) {
            return false;
        }
        int tag = RequestRing.tag(kind, CommandEncoding.SCRIPT, detail, isSecondTry);
        return isAsking
                ? sender.writeAsking(request, tag, command)
                : sender.write(request, tag, command, isRegistering);
    }

    /** Sends a release to this node alone; false if it cannot be written. */
    boolean send(UndeliveredRelease release, boolean isEval, boolean isAsking) {
        CommandEncoding encoding = release.lockKind == LockKind.PLAIN
                ? sender.capabilities().releaseEncoding()
                : CommandEncoding.SCRIPT;
        ByteBuf command = fanOut.batch.buffers.take(LockScripts.roomFor(release, isEval) + ASKING_BYTES, out -> {
            if (isAsking) {
                ASKING.writeTo(out);
            }
            if (encoding == CommandEncoding.SCRIPT) {
                LockScripts.writeRelease(out, release, isEval);
            } else {
                NativeCommands.writeRelease(out, encoding, release.resourceBulk, release.token);
            }
        });
        if (command == null) {
            return false;
        }
        int tag = RequestRing.tag(CommandKind.RELEASE, encoding, 0, isEval);
        return isAsking ? sender.writeAsking(release, tag, command) : sender.write(release, tag, command, false);
    }

    /** Sends the script of a batch to this node alone; false if it cannot be written. */
    private boolean sendScript(CommandBatch commands) {
        ByteBuf command = fanOut.batch.buffers.take(commands.room(true),
                out -> commands.writeTo(out, commands.requestsOf(nodeIndex), true));
        return command != null && sender.write(commands,
                RequestRing.tag(commands.kind, CommandEncoding.SCRIPT, 0, true), command, false);
    }
}
