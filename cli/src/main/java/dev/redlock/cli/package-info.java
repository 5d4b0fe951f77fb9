/**
 * The program {@code redlock} of an operator: it shows the locks of running nodes with their holders, breaks one, and
 * shows whether nodes vote. The measuring program shares its options, its connections and its messages.
 */
package dev.redlock.cli;
