/**
 * The engine behind the public API; not exported. {@code LockEngine} is the client of all event loops. On each of them
 * a {@code Conductor} wires the parts and passes events to them; what all parts share is {@code LoopServices}. Leaves
 * have packages of their own: {@code engine.key}, {@code engine.fence}, {@code engine.watch} for telemetry, and {@code
 * engine.callback} for code of users. The page internals/architecture.md follows one lock through all of it. The rest
 * of this package is one heart.
 *
 * <h2>Lives: who owns what</h2>
 *
 * <p>Three objects have a life, and each changes its state by methods that assert what is legal.
 *
 * <ul>
 * <li>A {@code LeaseHandle} is what a caller has: the outcome, then the lease ({@code LeaseState}). Callers write their
 * arguments, set a request bit ({@code RequestMailbox}) and read the state; only the event loop changes it.
 * <li>A {@code PendingAcquire} is an acquisition until its outcome, over all its attempts ({@code State}): it waits for
 * others, for a place, for a timer, or has an attempt in progress.
 * <li>A {@code Claim} is one token ({@code Phase}): one attempt, and the lease if that wins. It counts the replies that
 * are due, and returns to its pool after the last one. So a late reply finds its own token, never that of another
 * attempt: this is why a new attempt always is a new claim.
 * </ul>
 *
 * <p>An attempt links claim and acquisition, a lease links claim and handle; {@code Claim} alone ties and cuts both.
 * {@code ClaimRouter} passes each reply, timeout and failure of a claim to the operation of its phase.
 *
 * <p>What has to hold between these objects, after each event of the loop, is a table of the tests ({@code
 * StateTable}): it reads all of them at once, which no event in production may pay for.
 *
 * <p>A class and its only subclass are two files where each is a subject that one reads alone. {@code RequestMailbox}
 * is how requests reach the loop, {@code LeaseView} what callers read of a lease, {@code LeaseHandle} what they call.
 * {@code LeaseClient} is what leases ask of {@code LockEngine}, {@code Retention} what the heart asks of {@code
 * RetainedLocks}: a dozen lines in place of a circle. In {@code node.send}, {@code LockConnection} is the path of the
 * commands of locks, without the life of a connection. {@code TimerSpokes} are places, {@code TimerWheel} is time.
 * {@code ScopedClient} and the settings divide the public classes by the task of their reader.
 *
 * <h2>Acquiring</h2>
 *
 * <p>{@code AcquireScheduler} takes an acquisition, and starts its attempts within the limit of attempts in flight.
 * {@code AcquireOperation} is the round: it reads t1, draws a token, sends one command to all nodes, counts their
 * votes, and checks the validity against a second look at the clock. A round that fails is rolled back on every node
 * that was asked, whatever it has answered. What a claim needs beside a quorum of keys, a fence or a search for a
 * permit, it knows as a {@code FenceOrSearch}. {@code PartialRound} asks some nodes first; {@code HolderQuery} asks why
 * a lone {@code SET} was refused.
 *
 * <h2>Waiting</h2>
 *
 * <p>A refused acquisition with time left waits, and {@code Retries} decides for what. Inside the client one {@code
 * WaitQueue} for each key has its waiters in order of arrival; only the head makes attempts, and a release of this
 * client starts the next one at once ({@code WaitQueues}, {@code LocalWaiters} for retained locks). What differs by the
 * kind of lock is in {@code PlainQueue}, {@code SetQueue} and {@code PermitQueue}. Between clients the nodes wake: a
 * waiter registers, so the node pushes the next change of the key ({@code Registrations}, {@code KeyChanges}). A push
 * is a hint, and a timer covers each case in which it is missing ({@code WaitTimers}): it asks for the key ({@code
 * KeyQuestions}) or makes an attempt. So no waiter sleeps beside a free lock.
 *
 * <p>All clients ask the same node first, the {@code Coordinator}. How it orders them depends on the kind of lock:
 *
 * <ul>
 * <li>Clients that want a plain lock wait in its queue. A release wakes the first one only ({@code Crowd}, and the
 * package {@code engine.crowd}).
 * <li>Sets have {@code Ticket}s for their resources, which the coordinator returns with its refusals, and {@code
 * Reservations}. A release wakes one waiter in each client; those with a later ticket start later.
 * <li>Readers, writers and permits wake in the same way, in no order. Their waiters leave marks ({@code WaitMarks}),
 * writers also reservations.
 * </ul>
 *
 * <p>A client that releases and acquires again would precede them all, because its own commands need no push. That is
 * why a release asks whether another client waits, about once in 10 ms of use: it reads the length of the queue at the
 * coordinator, or the ttl of a mark or a reservation. After a yes, after a push, or behind an entry of another client,
 * the client gives way ({@code Fairness}).
 *
 * <h2>Leases</h2>
 *
 * <p>{@code LeaseKeeper} watches each lease by one timer, for its end or its next extension ({@code Renewals}). {@code
 * ExtendOperation} and {@code ReleaseOperation} are rounds like an acquire. A lease rests on the nodes in {@code
 * Claim.holderMask}; {@code LeaseLoss} ends it when fewer than a quorum are left, by proof alone. {@code Unclaimed}
 * says which leases of a lone node outlive its new process, {@code ShortenedLeases} which end earlier because a clock
 * has jumped, {@code LossWatch} reads keys for those who want to know at once. {@code KeptLocks} are released by their
 * caller and not on the nodes, until a shortest time has passed. {@code RetainedLocks} stay for the next caller of this
 * client; the rest of the engine knows them by their door {@code Retention}, and they know the heart everywhere, which
 * is why they are no package.
 *
 * <h2>Kinds of locks, and what a new one has to provide</h2>
 *
 * <p>A plain lock is one key. Any other kind is a guest: the plain path asks {@code kind != PLAIN} and knows no more.
 *
 * <ol>
 * <li><b>A constant of {@link dev.redlock.node.send.LockKind}</b> with its traits, and the scripts that it names. A
 * reply means the same for every kind: 1 granted, 0 or a remaining ttl refused.
 * <li><b>A key</b> in {@code engine.key}, made by {@code LockKey.as}: which keys a command names, in which order all
 * clients name them, and by which the pushes of its resources find its waiters.
 * <li><b>Its rule</b>, a class of its own: {@code PermitOperation} chooses and searches a permit, {@code SetOrder}
 * orders waiting sets, {@code Reservations} keep others away from a waiting writer or set, {@code FencedClaims} count.
 * <li><b>Its queue</b>, a subclass of {@code WaitQueue}: what a handoff, a push and a pause mean for it, and how a
 * competitor is noticed: by the queue of all clients, by a mark or by a reservation.
 * <li><b>Its words</b>: {@code AcquireOptions}, {@code AcquireSpec.check} for what it cannot be combined with, a view
 * if it has one, {@code LockInspector} to show and break it.
 * <li><b>Its proof</b>: a search of its states beside the others in {@code quorum}, its commands in the simulator's
 * {@code FakeRedis} and in {@code ScriptContract}, a contract that fakes and servers pass ({@code LockContract} and its
 * neighbours), and a share of the simulator's mix.
 * </ol>
 */
package dev.redlock.engine;
