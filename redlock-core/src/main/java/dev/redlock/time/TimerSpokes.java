package dev.redlock.time;

/**
 * The places of the timers of a {@link TimerWheel}, in two wheels:
 * <ul>
 * <li>The fine wheel has 64 spokes, one for each tick of 2^20 ns, about a millisecond: 67 ms in all.
 * <li>The coarse wheel has 1024 spokes, one for each revolution of the fine wheel: 68 s in all. Its timers move to the
 * fine wheel when their 67 ms start. So lease expiries that are seconds away cost the node timeouts nothing, and of a
 * hundred thousand timers only some hundreds move at a time.
 * </ul>
 *
 * <p>A timer that is further away stays in the coarse wheel for another revolution.
 *
 * @threading event-loop-confined
 */
abstract class TimerSpokes {

    private static final int FINE_SHIFT = 20;
    private static final int FINE_SPOKES_SHIFT = 6;
    private static final int COARSE_SHIFT = FINE_SHIFT + FINE_SPOKES_SHIFT;
    private static final int FINE_SPOKES = 1 << FINE_SPOKES_SHIFT;
    private static final int FINE_MASK = FINE_SPOKES - 1;
    private static final int COARSE_SPOKES = 1024;
    private static final int COARSE_MASK = COARSE_SPOKES - 1;
    /** Later than any deadline, and small enough to add a time without wrapping. */
    private static final long FAR_NS = Long.MAX_VALUE / 2;

    int startedCount;
    private final long originNs;
    private final TimerPlaces places = new TimerPlaces();
    private final long[] fineUsed = new long[FINE_SPOKES / Long.SIZE];
    private final long[] coarseUsed = new long[COARSE_SPOKES / Long.SIZE];
    private final TimerList[] fine = newSpokes(0, fineUsed);
    private final TimerList[] coarse = newSpokes(FINE_SPOKES, coarseUsed);
    private final TimerList due = new TimerList(places, FINE_SPOKES + COARSE_SPOKES, new long[1], 0);
    private long fineTick;

    TimerSpokes(long nowNs) {
        this.originNs = nowNs;
    }

    /** Places a timer that has no place, or moves it to an earlier one. */
    final void place(DeadlineTimer timer, long deadlineNs) {
        places.reserveBlock();
        if (timer.place != TimerPlaces.NONE) {
            listOf(timer).remove(timer);
        }
        timer.deadlineNs = deadlineNs;
        place(timer);
    }

    /** @return timers that are started */
    public final int startedCount() {
        return startedCount;
    }

    /** The blocks of places that exist, for tests of their number. */
    final int blockCount() {
        return places.blockCount();
    }

    /**
     * Calls the handler of each timer whose deadline has passed; returns their number. If a handler throws, its timer
     * has expired. The timers after it are due at the next poll, which must follow at once.
     */
    public final int poll(long nowNs) {
        long nowTick = Math.max(fineTick, Math.max(0, nowNs - originNs) >> FINE_SHIFT);
        long firstTick = Math.max(fineTick, nowTick - FINE_MASK);
        long firstCoarseTick = (fineTick >> FINE_SPOKES_SHIFT) + 1;
        fineTick = nowTick;
        cascade(firstCoarseTick, nowTick >> FINE_SPOKES_SHIFT);
        // All spokes first: if a handler throws, no timer may remain in a spoke that the wheel has passed.
        for (long tick = firstTick; tick <= nowTick; tick++) {
            fine[(int) tick & FINE_MASK].drainTo(due);
        }
        return expireDue(nowNs);
    }

    /**
     * The time of the next poll: the earliest one at which a timer may be due, or at which the wheel reaches a stopped
     * or postponed one; far away if there is none.
     */
    public final long wakeAtNs() {
        if (!due.isEmpty()) {
            return due.earliestNs();
        }
        int fineSpoke = firstUsed(fineUsed, (int) fineTick & FINE_MASK);
        long coarseTick = (fineTick >> FINE_SPOKES_SHIFT) + 1;
        int coarseSpoke = firstUsed(coarseUsed, (int) coarseTick & COARSE_MASK);
        long wakeNs = FAR_NS;
        if (fineSpoke >= 0) {
            wakeNs = fine[fineSpoke].earliestNs() - originNs;
        }
        if (coarseSpoke >= 0) {
            wakeNs = Math.min(wakeNs, coarseTick + (coarseSpoke - coarseTick & COARSE_MASK) << COARSE_SHIFT);
        }
        return originNs + wakeNs;
    }

    private TimerList listOf(DeadlineTimer timer) {
        int number = places.spokeOf(timer);
        if (number < FINE_SPOKES) {
            return fine[number];
        }
        return number < FINE_SPOKES + COARSE_SPOKES ? coarse[number - FINE_SPOKES] : due;
    }

    private void place(DeadlineTimer timer) {
        timer.placedNs = timer.deadlineNs;
        long tick = Math.max(Math.max(0, timer.deadlineNs - originNs) >> FINE_SHIFT, fineTick);
        if (tick - fineTick < FINE_SPOKES) {
            fine[(int) tick & FINE_MASK].append(timer);
        } else {
            // A timer that is a revolution away is reached early and placed again.
            coarse[(int) (tick >> FINE_SPOKES_SHIFT) & COARSE_MASK].append(timer);
        }
    }

    /**
     * Moves the timers of the coarse spokes that have started to the fine wheel, or back if they are a revolution away.
     */
    private void cascade(long firstTick, long lastTick) {
        for (long tick = Math.max(firstTick, lastTick - COARSE_MASK); tick <= lastTick; tick++) {
            coarse[(int) tick & COARSE_MASK].drainTo(due);
        }
        for (DeadlineTimer timer = nextDue(); timer != null; timer = nextDue()) {
            if (timer.isStarted) {
                place(timer);
            }
        }
    }

    /** Leaves the timer where it is if there is no memory for its next place. */
    private DeadlineTimer nextDue() {
        places.reserveBlock();
        return due.poll();
    }

    private int expireDue(long nowNs) {
        int expired = 0;
        for (DeadlineTimer timer = nextDue(); timer != null; timer = nextDue()) {
            if (!timer.isStarted) {
                continue;
            }
            if (timer.deadlineNs - nowNs <= 0) {
                timer.isStarted = false;
                startedCount--;
                expired++;
                timer.handler.accept(nowNs);
            } else {
                place(timer);
            }
        }
        return expired;
    }

    /** The first used spoke at or after a spoke, in one revolution; -1 if none is used. */
    private static int firstUsed(long[] used, int from) {
        int word = from >> 6;
        long bits = used[word] & -1L << from;
        for (int i = 0; i <= used.length; i++) {
            if (bits != 0) {
                return (word << 6) + Long.numberOfTrailingZeros(bits);
            }
            word = word + 1 & used.length - 1;
            bits = used[word];
        }
        return -1;
    }

    private TimerList[] newSpokes(int firstNumber, long[] used) {
        TimerList[] spokes = new TimerList[used.length * Long.SIZE];
        for (int i = 0; i < spokes.length; i++) {
            spokes[i] = new TimerList(places, firstNumber + i, used, i);
        }
        return spokes;
    }
}
