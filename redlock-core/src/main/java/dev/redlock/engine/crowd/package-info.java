/**
 * How the clients that wait for one plain lock take turns; not exported.
 *
 * <p>A release that woke all waiting clients would cost each node as many refusals as there are clients. So one client
 * is woken at a time. The coordinator of a lock, the node that all clients ask first, keeps them in a sorted set in
 * order of arrival, the <i>queue</i>. Only the first one, the <i>head</i>, is registered for the push of the release.
 * The second one, its <i>deputy</i>, watches over it. All others sleep. A grant sends a message to the next two.
 *
 * <p>The queue orders clients, and excludes nobody. A lock is granted by {@code SET NX} on a quorum of nodes, as ever,
 * so an entry that is lost, doubled or wrong costs time and order only.
 *
 * <h2>Commands</h2>
 *
 * <pre>
 * SET NX PX          the first attempt of a caller, to all nodes; and to the others after the grant of the coordinator
 * acquire_in_order   to the coordinator. Granted, if the lock is free and nobody precedes: the entry of the client
 *                    ends, and the next two get a message. Refused: the client has an entry, and the reply has its
 *                    place and the ttl of the lock. As a check beside a free lock, it also wakes the head; or drops
 *                    it, if an earlier check has woken it for 40 ms without effect. A client that enters after that
 *                    lives and is slow, so it gets 400 ms for the next minute
 * ZRANK, PTTL        a look: the place and the lock. With CLIENT CACHING before PTTL it registers, too
 * leave_queue        the last waiter of a client has given up. The next one gets its message
 * release            as of any lock. It knows no queue, so a lock that nobody waits for costs nothing more
 * </pre>
 *
 * <p>A message is a {@code PUBLISH} to a channel of the client, which subscribes when it connects: {@code h} to the new
 * head, {@code d} to the new deputy, in capitals if the lock is free. {@code PUBLISH} returns 0 for a client without a
 * connection, whose entry the script then removes.
 *
 * <h2>What a waiter does</h2>
 *
 * <ul>
 * <li><b>Head</b>: looks and registers. A push starts its attempt; so does the end of the holder's ttl. After 25 to
 * 38 ms it registers at the other nodes too, which covers a coordinator that stops.
 * <li><b>Deputy</b>: looks and registers after 70 to 105 ms, then every 250 to 375 ms, and 25 ms after a push. If it
 * finds the lock free, it checks, and again after 50 to 75 ms.
 * <li><b>Sleeper</b>: looks at its place after 250 to 375 ms, and a quarter longer for each client that precedes. If
 * nobody has left the queue since the last look, it reads the lock, and checks if that is free. So
 * the looks of a thousand sleepers are some 70 a second.
 * <li>Each of them makes an attempt instead of a look after 20 s, because the queue expires after 60 s.
 * <li>A waiter whose connection ends, whose coordinator changes, or whose node is flushed enters again. An entry has
 * the time of the server less the time that the client has waited, so it gets its old place, also at another node.
 * </ul>
 *
 * <p>One place of a client serves all its local waiters. After a lease its next waiter may get the lock without a turn,
 * as often as {@code localHandoffsMax} allows. Whoever returns to a lock that others wait for asks in order; but for
 * 2 ms after the grant it passes the others, because a handoff takes as long as several short leases.
 *
 * <p>A node that sends no messages, as a cluster or one without the right, gets a name to which the scripts publish
 * nothing. There each waiter waits as the head does: all are woken, and served in order. One that finds the lock free
 * and others before it registers, and asks again after 20 to 30 ms, from then on by a check. The push of a grant ends
 * that, so a client that lives has this time after each release.
 *
 * <h2>Invariants, and the tests of each</h2>
 *
 * <ol>
 * <li>No waiter sleeps beside a free lock. Without faults a message is under way; after a fault a timer ends soon: a
 * head that is dead costs 105 ms, one that hangs 180 ms, both 120 ms without messages. {@code dev.redlock.crowd}
 * (tests) searches all orders of events in a model of this protocol, with the wrong variants that it finds. The
 * simulator asserts its bound for the engine.
 * <li>A grant goes to the client that has waited for longest, among those that live: {@code CrowdTest}, {@code
 * ScriptContract}.
 * <li>A release wakes the head and the deputy at most: {@code CrowdTest}.
 * <li>Each entry ends: by a grant, by {@code leave_queue}, by the next message, or with the queue: {@code CrowdTest}.
 * </ol>
 *
 * <p>{@code Place} is what a client knows of its entry, and how it waits; {@code QueueReply} reads a refusal. The
 * package {@code engine} has the part that sends: {@code Crowd}.
 */
package dev.redlock.engine.crowd;
