/** Locks for Project Reactor. */
package dev.redlock.reactor;
