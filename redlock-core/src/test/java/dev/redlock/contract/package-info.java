/**
 * Contracts: the same cases run on the model of the server and on real servers, so they show that the model behaves
 * as Redis and Valkey do. {@code LockContract} has the public API, and includes semaphores, read-write locks and
 * sets; {@code TrackingContract} has client tracking, {@code ScriptContract} each Lua script. The {@code Fake...Test}
 * run them on the model; the module {@code load-test} runs them on servers. {@code ContractNodes} is their base.
 */
package dev.redlock.contract;
