package dev.redlock.loadtest.nodes;

/**
 * One source cannot give nodes here; the message says why, in words for the user.
 *
 * @threading immutable
 */
final class SourceRefusedException extends Exception {
    private static final long serialVersionUID = 1L;

    SourceRefusedException(String reason) {
        super(reason);
    }
}
