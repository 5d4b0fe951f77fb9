package dev.redlock.transport;

/**
 * A file of the TLS options cannot be used. The message contains the file, the rule and the fix, and no secret.
 *
 * @threading immutable
 */
public final class TlsFileException extends Exception {

    private static final long serialVersionUID = 1;

    TlsFileException(String message) {
        super(message);
    }
}
