/**
 * Helpers of the tests in all folders. {@code VirtualTest} is the base of tests in virtual time: it runs nodes and
 * clients of {@code dev.redlock.sim.VirtualWorld} in the thread of the test, and checks after each test that claims
 * and buffers are released. Tests with real threads use {@code Await}, {@code BlockedCall} and {@code
 * dev.redlock.sim.LiveNodes}. {@code LogLines} collects the log, {@code Refusal} compares a message of an exception.
 * {@code dev.redlock.TestClient} reaches the members that are package-private in the public package.
 */
package dev.redlock.testing;
