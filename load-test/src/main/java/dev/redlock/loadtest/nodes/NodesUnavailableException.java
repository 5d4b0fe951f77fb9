package dev.redlock.loadtest.nodes;

/**
 * No nodes could be had. The message names every source that was tried and why it was refused.
 *
 * @threading immutable
 */
public final class NodesUnavailableException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    /**
     * Only this package gives up.
     *
     * @param message the sources and their refusals
     */
    NodesUnavailableException(String message) {
        super(message);
    }
}
