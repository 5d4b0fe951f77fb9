package org.example;

/** The work under the lock of an order. */
interface Shipping {
    void ship(String id);
}
