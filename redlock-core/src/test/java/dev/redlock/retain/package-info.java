/**
 * Retained locks: a client keeps a lock after its release, for its own next acquisition, until another client wants
 * it. The tests {@code Retain...Test} run the client in virtual time or with real threads; {@code ...SearchTest}
 * explore every state of a model of the rules, without code of the product.
 */
package dev.redlock.retain;
