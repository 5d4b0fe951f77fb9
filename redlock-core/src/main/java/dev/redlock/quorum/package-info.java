/**
 * The rules of the algorithm as pure logic: rounds, votes, validity, fencing, tokens. It imports only the JDK, and time
 * is an argument. Start to read with {@code Round} and {@code Validity}. Not exported.
 */
package dev.redlock.quorum;
