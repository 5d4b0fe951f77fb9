/** The lock clients that the rig measures, behind one interface: redlock, its peers, and a lower bound. */
package dev.redlock.loadtest.driver;
