package dev.redlock.node;

import dev.redlock.node.send.ServerCapabilities;
import dev.redlock.resp.RespValue;

/**
 * Gets what the parts of a node find out: its handshakes, its first contact and its monitor.
 *
 * @threading event-loop-confined
 */
interface NodeSignals {

    /** The server cannot be used until a person changes something. */
    void onRejected(String reason);

    // ---- the handshake ----------------------------------------------------------------------------------------------

    /** The node may be used. The identity has an id if the voter is a cluster. The handshake is over. */
    void onHandshake(String runId, long uptimeSeconds, ServerCapabilities capabilities, MemberIdentity identity);

    /** The server is no master now. It may become one, or another server may get its address. */
    void onNoMaster(String role);

    /** The next handshake may succeed. */
    void onHandshakeFailed(String reason);

    /** The process has replied, and the handshake continues. */
    void onProcess(String runId);

    /** The server's clock was read. */
    void onClockSample(long sentNs, long receivedNs, long wallUs);

    // ---- the first contact ------------------------------------------------------------------------------------------

    /** The node may vote, or stays in quarantine for longer. */
    void onFirstContactDecided();

    /** The node has lost its keys while it was not connected. */
    void onKeysLost();

    // ---- the monitor ------------------------------------------------------------------------------------------------

    /** The oldest request has had no reply for the configured time. */
    void onUnanswered();

    /** The node replied to {@code TIME}. */
    void onTime(long sentNs, long receivedNs, RespValue reply);

    /** The server of a node that is no cluster has reported its role. */
    void onRole(ReplicationInfo shown);

    /** The connection works. Called every quarter of a second. */
    void onTick(long nowNs);
}
