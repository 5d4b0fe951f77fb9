package dev.redlock.spring.inherited;

import dev.redlock.spring.Locked;

/** A subclass in another package does not override the method, and neither does its proxy. */
public abstract class PackagePrivateJob {

    @Locked("orders")
    void ship(String id) {
    }
}
