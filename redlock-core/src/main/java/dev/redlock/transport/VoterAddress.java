package dev.redlock.transport;

import java.util.List;

/**
 * The address of one voter: a master, or a cluster that is known by some of its servers.
 *
 * @threading immutable
 */
public sealed interface VoterAddress permits NodeAddress, ClusterAddress {

    /**
     * Parses an address.
     *
     * @throws IllegalArgumentException if it has none of the documented forms
     */
    static VoterAddress parse(String text) {
        return ClusterAddress.isCluster(text) ? ClusterAddress.parse(text) : NodeAddress.parse(text);
    }

    /** @return the address of a master itself, or the seeds of a cluster */
    List<NodeAddress> servers();

    /** @return whether it is the address of a cluster */
    default boolean isCluster() {
        return this instanceof ClusterAddress;
    }

    /** @return whether the connections are encrypted */
    boolean isTls();

    /** @return whether the address has a password */
    boolean hasPassword();
}
