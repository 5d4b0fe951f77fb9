package dev.redlock.node.send;

/**
 * The reply to a {@link CommandBatch}: an integer or an error for each request that the node got, in their order. Used
 * again for each batch of a connection.
 *
 * @threading event-loop-confined
 */
final class BatchReply {

    private final long[] values = new long[CommandBatch.LENGTH_MAX];
    private final VoteFailure[] failures = new VoteFailure[CommandBatch.LENGTH_MAX];
    private final String[] errorCodes = new String[CommandBatch.LENGTH_MAX];
    private int length;

    void clear() {
        length = 0;
    }

    int length() {
        return length;
    }

    void addValue(long value) {
        failures[length] = VoteFailure.NONE;
        values[length++] = value;
    }

    /** The reply of a release that has deleted so many keys, all of the batch. */
    void setAllReleased(int count) {
        clear();
        while (length < count) {
            addValue(1);
        }
    }

    void addError(VoteFailure failure, String errorCode) {
        failures[length] = failure;
        errorCodes[length++] = errorCode;
    }

    long value(int index) {
        return values[index];
    }

    /** The kind of error; {@link VoteFailure#NONE} if the reply is an integer. */
    VoteFailure failure(int index) {
        return failures[index];
    }

    /** The first word of the error; stale without an error. */
    String errorCode(int index) {
        return errorCodes[index];
    }
}
