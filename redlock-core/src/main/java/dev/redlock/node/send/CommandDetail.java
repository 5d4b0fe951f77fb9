package dev.redlock.node.send;

/**
 * What a command says beside its kind: a number of 22 bits that comes back with each outcome, so that its request knows
 * which of its commands was answered. Each kind has one meaning of it; the others send {@link #NONE}.
 *
 * <ul>
 * <li>An extension: the number of its round, from 1 to {@link #ROUND_MAX}. Replies of older rounds do not count.
 * <li>A fenced release: {@link #COUNTER_ONLY} if it only raises a counter.
 * <li>A question for the type of a key: the index of the resource in its set.
 * <li>The commands of a retained lock: the key, {@link #QUEUE} or {@link #TRACES}.
 * </ul>
 *
 * @threading immutable
 */
public final class CommandDetail {

    public static final int NONE = 0;
    /** The highest number of a round; the next one is 1 again. */
    public static final int ROUND_MAX = RequestRing.DETAIL_MAX;
    /** The release only raises a counter: its reply is not a vote. */
    public static final int COUNTER_ONLY = 1;
    /** The command is about the key of the queue. */
    public static final int QUEUE = 0;
    /** The command is about the key of the traces. */
    public static final int TRACES = 1;

    private CommandDetail() {
    }
}
