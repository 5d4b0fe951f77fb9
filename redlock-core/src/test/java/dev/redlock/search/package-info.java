/**
 * The engine of the exhaustive searches: {@link dev.redlock.search.StateSearch} visits every state of a model, the
 * nearest first, counts them and prints the shortest counterexample: the steps to a violation;
 * {@link dev.redlock.search.EndlessSearch} also looks for runs in which something never happens. The models are beside
 * the rules: {@code quorum}, {@code retain} and {@code crowd}.
 */
package dev.redlock.search;
