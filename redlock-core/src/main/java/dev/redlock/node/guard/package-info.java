/**
 * The rules that decide whether a node may vote: after a restart, a jump of its clock or a promotion, and when all
 * nodes are new. They know no connection and send no command: what a node has replied, and when, are arguments. They
 * import only {@code Drift}, the time, and the modes of the restart guard. Not exported.
 */
package dev.redlock.node.guard;
