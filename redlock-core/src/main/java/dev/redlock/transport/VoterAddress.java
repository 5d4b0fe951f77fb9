package dev.redlock.transport;

import java.util.Collections;
import java.util.List;

/**
 * The address of one voter: a master, a cluster that is known by some of its servers, or a primary that Sentinels name.
 *
 * @threading immutable
 */
public sealed interface VoterAddress permits NodeAddress, ClusterAddress, SentinelAddress {

    /**
     * Parses an address.
     *
     * @throws IllegalArgumentException if it has none of the documented forms
     */
    static VoterAddress parse(String text) {
        if (SentinelAddress.isSentinel(text)) {
            return SentinelAddress.parse(text);
        }
        return ClusterAddress.isCluster(text) ? ClusterAddress.parse(text) : NodeAddress.parse(text);
    }

    /** @return the address of a master itself, the seeds of a cluster, or the Sentinels */
    List<NodeAddress> servers();

    /** @return whether it is the address of a cluster */
    default boolean isCluster() {
        return this instanceof ClusterAddress;
    }

    /** @return whether another address leads to the same voter, as far as the addresses show it */
    default boolean isSameVoter(VoterAddress other) {
        return !(other instanceof SentinelAddress) && !Collections.disjoint(servers(), other.servers());
    }

    /** @return an address that has the user, the password and the TLS of all connections */
    NodeAddress access();

    /** @return whether the connections of another address have the same user and password */
    default boolean isSameLogin(VoterAddress other) {
        return access().isLoginOf(other.access());
    }

    /** @return whether the connections are encrypted */
    boolean isTls();

    /** @return whether the address has a password */
    boolean hasPassword();
}
