package dev.redlock.trial.nodes;

/**
 * No source could provide nodes. The message names every source that was tried, with the reason of its failure.
 *
 * @threading immutable
 */
public final class NodesUnavailableException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    NodesUnavailableException(String message) {
        super(message);
    }
}
