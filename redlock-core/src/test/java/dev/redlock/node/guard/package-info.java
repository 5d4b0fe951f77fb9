/**
 * Which nodes vote, and from when: nodes after a restart, clocks that jump or stand still, and addresses that lead to
 * one server. The tests of the classes of this package run beside those of a whole client in virtual time ({@code
 * dev.redlock.testing.VirtualTest}).
 */
package dev.redlock.node.guard;
