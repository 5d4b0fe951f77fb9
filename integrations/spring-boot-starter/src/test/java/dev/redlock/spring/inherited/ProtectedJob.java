package dev.redlock.spring.inherited;

import dev.redlock.spring.Locked;

/** A proxy in any package overrides the method. */
public abstract class ProtectedJob {

    @Locked("orders")
    protected void ship(String id) {
    }
}
