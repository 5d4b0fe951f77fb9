/**
 * The rules of the algorithm as pure logic: rounds, votes, validity, fencing, tokens. It imports the JDK alone and gets
 * time as an argument. Not exported.
 */
package dev.redlock.quorum;
