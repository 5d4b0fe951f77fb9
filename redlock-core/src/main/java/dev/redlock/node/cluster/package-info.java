/**
 * One vote that a whole Redis or Valkey Cluster gives. {@link dev.redlock.node.cluster.ClusterVoter} is a {@link
 * dev.redlock.node.Voter} as a single master is, but routes each key to the master that owns the key's slot. It has a
 * {@link dev.redlock.node.Node} for each master, which connects, logs in and is guarded as any other one.
 *
 * <ul>
 * <li>Who owns a slot: {@code SlotMap} is the reply to {@code CLUSTER SLOTS}, {@code MasterNodes} finds or adds the
 * node of each master in it, and {@code ClusterRedirects} changes an owner as soon as a server redirects.
 * <li>Who may still serve a slot: after a change of its owner the slot gives no vote, for as long as a {@link
 * dev.redlock.node.cluster.DeposedMaster} may serve and its locks may be valid. {@code ClusterNodeTimeout} knows the
 * setting of the servers on which that depends.
 * </ul>
 *
 * <p>The package is above {@code dev.redlock.node}, because a cluster consists of nodes, and a node needs little of its
 * cluster: {@link dev.redlock.node.Membership}, which {@code ClusterMember} implements. It changes what {@code
 * dev.redlock.node.send} routes by: {@code SlotOwners} and the members of each voter. Only the engine knows this
 * package, and only to create the voter. A client without a cluster loads none of it. Not exported.
 */
package dev.redlock.node.cluster;
