package dev.redlock;

/**
 * A client that shows what keeps nodes from voting, and changes nothing by which other clients let them vote. It is in
 * this package because such a client is not part of the public API.
 *
 * @threading any thread
 */
public final class DiagnosisClient {

    private DiagnosisClient() {
    }

    /**
     * Connects a client that writes no marks of the restart guard. Its locks must protect nothing.
     *
     * @param context the configuration; concluded by this call, unless it throws
     * @return the client
     * @throws IllegalArgumentException if the configuration contradicts itself
     */
    public static Redlock connect(RedlockContext context) {
        return Redlock.connect(context.withoutMarks());
    }
}
