package dev.redlock.loadtest.chaos;

/**
 * The share of the resources that are locked with fencing tokens. All grants of one resource are of one kind.
 *
 * @threading immutable
 */
public enum Fenced {
    NONE, HALF, ALL;

    boolean isFenced(int resource) {
        return this == ALL || this == HALF && resource % 2 == 0;
    }
}
