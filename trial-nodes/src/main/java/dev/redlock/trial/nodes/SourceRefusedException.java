package dev.redlock.trial.nodes;

/**
 * A source cannot provide nodes on this machine. The message has the reason, for the user.
 *
 * @threading immutable
 */
final class SourceRefusedException extends Exception {
    private static final long serialVersionUID = 1L;

    SourceRefusedException(String reason) {
        super(reason);
    }
}
