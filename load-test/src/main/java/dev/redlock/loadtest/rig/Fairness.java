package dev.redlock.loadtest.rig;

import java.util.List;

/**
 * How evenly something was dealt.
 *
 * @threading any thread
 */
final class Fairness {
    private Fairness() {
    }

    /**
     * Jain's index: (sum of x)^2 / (n * sum of x^2).
     *
     * @param shares what each of n got
     * @return 1 if all got the same, 1/n if one got all, 0 if nobody got anything
     */
    static double jainIndex(List<Long> shares) {
        double sum = 0;
        double squares = 0;
        for (long share : shares) {
            sum += share;
            squares += (double) share * share;
        }
        return squares == 0 ? 0 : sum * sum / (shares.size() * squares);
    }
}
