/**
 * The queue of the clients that wait for one lock: a model of the protocol, without code of the product.
 *
 * <p>Many clients wait, and one release is to wake one of them. The coordinator of the lock keeps the waiting clients
 * in a sorted set, in the order in which they came. The first one, the <i>head</i>, tracks the key of the lock. The
 * second one, its <i>deputy</i>, watches over the head. All others sleep. A grant promotes the next two.
 *
 * <h2>Messages</h2>
 *
 * <pre>
 * to all nodes
 *   SET NX PX     a caller that knows of nobody else; and at the other nodes, after the grant of the coordinator
 * to the coordinator
 *   enter         granted if the lock is free, and the queue empty or the client its head: the entry is removed, and
 *                 the next two are promoted. Else refused: the entry is set, and the reply has the place and the ttl
 *   check         an enter of another client than the head. Beside a free lock it wakes the head, or drops it: a head
 *                 without a connection, or one that an earlier check has woken and that has not entered since
 *   pass          an enter of a client that comes back in its turn. It takes a free lock though others wait, and
 *                 leaves all entries as they are
 *   watch         registers, and reads the lock and, unless the client is the head, its place
 *   place         reads the place of the client
 *   read          reads the lock, without registration
 *   leave         removes the entry. That of the head or deputy promotes the next one; beside a free lock, a check, too
 * from the coordinator
 *   invalidation  the key has changed. It ends the registration
 *   h             to the new head, from a grant, a check or a leave
 *   d             to the new deputy, with each h. Both say whether the lock is free
 * </pre>
 *
 * <p>{@code h} and {@code d} are published to a channel of the client, which subscribes when it connects. {@code
 * PUBLISH} returns 0 for a client without a connection: its entry is removed, and the next one is told. The release of
 * a lock is a release as ever, and knows no queue.
 *
 * <p>A coordinator that refuses writes keeps the entries and the key that it has, and each enter, check, pass and leave
 * fails. If it has the key, it refuses those behind others, without a place: they wait as the head does. Otherwise it
 * answers with an error, and the client asks the other nodes. A leave sends {@code h} to the next client.
 *
 * <p>A coordinator without channels sends no messages, and drops nobody for a lost connection. There each client that
 * waits watches. After an invalidation it enters, also if others precede. If the lock is free and it is registered, it
 * asks again after 20 to 30 ms, by a check. An invalidation before that is one of a grant: then it enters instead.
 *
 * <h2>Steps of a client</h2>
 *
 * <ol>
 * <li>It comes: {@code SET} at all nodes. Refused: the first {@code enter}. If it has waited for its last grant, or
 * was told with it that others wait, or by the question of one release in 10 ms of use, it enters at once. For 2 ms
 * after the grant or the answer, its turn, it passes the others instead, as often as it comes back.
 * <li>Place 0, or an {@code h}: it is the head, and watches, or enters if the lock is free. A deputy that is registered
 * watches, too, because another client may have the lock since its look. Then it enters after an invalidation, at the
 * end of the ttl of the holder, and after 250 to 500 ms. After each refusal it watches again.
 * <li>Place 1, or a {@code d}: it is the deputy. It watches after 70 to 105 ms (after 50 to 75 ms if the lock is
 * free), then every 250 to 375 ms, and 25 ms after an invalidation. If it finds the lock free, it checks, and again
 * every 50 to 75 ms while the lock is free. If it finds itself at place 0, it is the head.
 * <li>A later place: it asks for its place after 250 to 375 ms, and a quarter longer for each client that precedes. If
 * fewer precede than before, it waits as its new place demands. Otherwise it reads the lock, and does as the deputy if
 * that is free.
 * <li>A look that does not find the entry leads to an {@code enter}. A message ends a look, whose answer may be older.
 * <li>A client that has not entered for 20 s does so instead of a look: the queue expires after 60 s.
 * <li>It gives up: {@code leave}. The same answers a message that nobody waits for, and follows a connection that has
 * lost a leave.
 * <li>Its connection or the coordinator ends, or it sees another coordinator: it enters again, and leaves the old
 * queue if it can. The score of an entry is the time of the server less the time that the client has waited, so it has
 * its old place. An entry that is there keeps the lesser one of both scores, so a clock that was set back does harm
 * until the next {@code enter} only.
 * </ol>
 *
 * <h2>Invariants, and the tests of each</h2>
 *
 * <ol>
 * <li>A push is no grant. The votes of a quorum decide, also if clients differ in the coordinator: {@code
 * CrowdVotesSearchTest}, {@code PUSH_IS_GRANT}.
 * <li>Without faults, a free lock and a waiter imply a message under way, so no timer is needed. The messages lead to
 * a grant: {@code withoutFaultsNobodySleepsBesideAFreeLock}.
 * <li>After a fault, a timer is due in a bounded time, and the head is passed: {@code
 * afterAFaultNobodySleepsForLonger}. With ticks of 35 ms, a dead head costs 105 ms, one that hangs 175 ms, both of
 * head and deputy the check of a sleeper and 70 ms each; and 70 ms more if a message ends a look of the sleeper.
 * <li>Only a head that did nothing for longer than a message takes is dropped, and the lock goes to the next one in
 * the order, not to the client that has found it: {@code DROPPED_AT_ONCE}, {@code SUSPECT_AFTER_REFUSAL}, {@code
 * LOOK_IS_ANSWER}, {@code CHECKER_CLAIMS}. A head that was dropped costs its time once: {@code SILENT_ENTRY_STAYS}.
 * <li>The new deputy is told with each grant. One that moves up without a message watches too late: {@code
 * DEPUTY_NOT_TOLD}.
 * <li>A release wakes the head and the deputy at most: {@code ALL_WATCH}.
 * <li>A lock that nobody waits for costs no further command: {@code ENTER_ALWAYS}, {@code RELEASE_ASKS}. A client that
 * comes back without knowing of the others precedes them twice at most: {@code RETURN_PRECEDES}.
 * <li>Nor does one that passes the others wake or end an entry, or pass them after its turn: {@code PASS_DROPS_HEAD},
 * {@code PASS_FORGETS}, {@code NEVER_GIVES_WAY}, {@code aClientThatPassesOthersLeavesNobodyBehind}.
 * <li>The same without messages, with ticks of 15 ms: a fault costs 120 ms once. A client that lives has time after
 * each release, though an older check has noted it: {@code withoutMessagesAFaultDelaysTheOthersOnce}, {@code
 * PRECEDED_ENTERS}, {@code CHECKED_AT_ONCE}, {@code LEAVER_DROPS_UNTOLD}.
 * <li>If the coordinator refuses writes, each client that leaves costs the next one a tick, in which it registers at
 * the other nodes: {@code ORDER_HIDES_ERROR}, {@code KEPT_ENTRY_HAS_PLACE}, {@code KEPT_ENTRY_IS_SILENT}.
 * <li>A sleeper watches over all those before it, and costs one short question as long as they are served: {@code
 * PLACE_ONLY}, {@code STUCK_PLACE_UNREAD}, {@code LOST_ENTRY_STAYS}. What a client knows is not older than its place:
 * {@code LOOK_OUTLIVES_MESSAGE}, {@code NEW_HEAD_DOES_NOT_LOOK}.
 * <li>Each entry ends by a grant, a leave, its turn, or the expiry of the queue, which no waiter sees: {@code
 * ENTRY_LEFT}, {@code QUEUE_STAYS}, {@code QUEUE_EXPIRES_SOON}, {@code ONLY_LOOKS}.
 * </ol>
 */
package dev.redlock.crowd;
