/** The lock clients that the rig can drive, behind one service interface: ours, its peers, and the protocol's floor. */
package dev.redlock.loadtest.driver;
