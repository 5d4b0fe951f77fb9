package dev.redlock.loadtest.rig;

import java.util.List;

/** @threading any thread */
final class Fairness {
    /** Jain's index, (sum of x)^2 / (n * sum of x^2): 1 if all are equal, 1/n if one has everything, 0 if all are 0. */
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
