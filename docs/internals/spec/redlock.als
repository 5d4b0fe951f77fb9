/*
 * The lock over N independent nodes: who may hold it, when, and why never two at once.
 *
 * A state has the nodes' keys, the commands on the way, and what the clients count. A step is one event. Nothing is
 * ordered: a command that was sent may be executed at any later time, again, or never, and a reply may be lost.
 *
 * Time is left out. What it does is one rule: no key expires while the lease that counts it is valid (KeysOutlive).
 * timed.als shows that the client's arithmetic gives this rule.
 *
 * Each Rule can be switched off: `Off` has those that do not hold. The first group are assumptions about the world,
 * the second are what clients and nodes do.
 */
module redlock

abstract sig Rule {}
one sig
  KeysOutlive,       -- clocks run at about the same rate, so a key outlives the lease that counts it
  HoldersStop,       -- a holder stops when its validity ends
  KeysKept,          -- keys may be deleted, but each lease keeps a majority of its nodes
  RestartsSeen,      -- a node that restarted reports it, so the restart guard works
  OneProcess,        -- a command is executed by the process that it was sent to, or never
  ListsOverlap       -- clients that run at the same time share a list of nodes
extends Rule {}
one sig
  SetIfFree,         -- an acquire sets free keys only
  DeleteIfOwn,       -- a release deletes its own token only
  ExtendIfOwn,       -- an extension leaves another token alone
  RefusalNoVote,     -- an extension that is refused is no vote
  RepairNoVote,      -- an extension that sets a missing key is no vote
  NewTokens,         -- each attempt has a token of its own
  MoreThanHalf,      -- half of the nodes is not enough
  OfAllNodes,        -- the majority is one of all nodes, not of those that were asked
  ReadersCount,      -- a reader needs a majority too
  AllOfSet,          -- a node takes all resources of a set or none
  GuardAttempts,     -- the restart guard waits for attempts, not only for leases
  GuardExtensions,   -- the restart guard holds for extensions too
  AllListsExtend     -- an extension needs a majority of each list
extends Rule {}
sig Off in Rule {}
pred on[r: Rule] { r not in Off }

sig Resource {}
sig List { members: some Node }          -- the nodes that a client is configured with
sig Client { lists: some List }          -- two while the list is being changed
sig Reclaiming in Client {}              -- has one node, and renews its leases there in the quarantine
fact { all c: Reclaiming | one c.lists.members }
sig Token {                              -- one attempt to acquire, and the lease that it may become
  owner: one Client,
  needs: some Resource,                  -- one; several for a set; for a permit, the one that it tries
  var granted: set Node,                 -- has set the keys for the round that the lease rests on
  var renewed: set Node                  -- has renewed them for the open extension
}
sig Reader in Token {}
sig Node {
  var key: Token -> Resource,
  var acquiring, extending, releasing: set Token,   -- commands on the way to the node
  var lost: set Token,                   -- tokens whose grant it forgot in a restart
  var dropped: set Token                 -- tokens whose key was deleted, evicted or flushed
}
var sig Trying, Held, Over in Token {}   -- an attempt, a valid lease, and neither any more
var sig Acting in Token {}               -- its owner uses the resource

pred excludes[t, u: Token] { t != u and some t.needs & u.needs and not t + u in Reader }
pred Exclusion { no t, u: Acting | excludes[t, u] }

-- Votes ------------------------------------------------------------------------------------------------------------

fun active: set Token { Trying + Held }
fun counting[n: Node]: set Token { (granted + renewed).n & active }

pred majority[ns, of: set Node] {
  #(ns & of) > #(of - ns) or not on[MoreThanHalf] and #(ns & of) = #(of - ns)
}
pred enough[t: Token, ns: set Node] {
  not on[ReadersCount] and t in Reader and some ns
  or all l: t.owner.lists | majority[ns, on[OfAllNodes] implies l.members else l.members & acquiring.t]
}
pred enoughToExtend[t: Token, ns: set Node] {
  on[AllListsExtend] implies enough[t, ns] else some l: t.owner.lists | majority[ns, l.members]
}

-- The restart guard: clients ask a restarted node when all that may count what it forgot is over. Real clients cannot
-- know, and wait for the longest ttl.
pred inQuarantine[n: Node] {
  on[RestartsSeen] and some n.lost & counting[n] & (on[GuardAttempts] implies active else Held)
}

pred reclaims[t: Token] { t.owner in Reclaiming }

pred has[n: Node, t: Token] { t.needs in n.key[t] }
pred isFree[n: Node, t: Token] {
  no u: n.key.Resource - t | some n.key[u] & t.needs and not t + u in Reader
}
fun freeOf[n: Node, t: Token]: set Resource { t.needs - Token.(n.key) }

-- Clients ----------------------------------------------------------------------------------------------------------

-- An attempt starts, or asks more nodes: any, but those in quarantine.
pred ask[t: Token] {
  t not in Held and (on[NewTokens] implies t not in Over)
  acquiring in acquiring' and acquiring' - acquiring in { n: t.owner.lists.members | not inQuarantine[n] } -> t
  on[ListsOverlap] implies all u: active - t | some t.owner.lists & u.owner.lists
  Trying' = Trying + t and Held' = Held and Over' = Over - t and Acting' = Acting
  extending' = extending and releasing' = releasing
  votesUnchanged and nodesUnchanged
}
-- Enough grants have arrived.
pred win[t: Token] {
  t in Trying and enough[t, t.granted]
  Trying' = Trying - t and Held' = Held + t and Over' = Over and Acting' = Acting + t
  votesUnchanged and wiresUnchanged and nodesUnchanged
}
-- A round of extension starts.
pred extend[t: Token] {
  t in Held
  extending in extending'
  extending' - extending in { n: t.owner.lists.members |
    on[GuardExtensions] and not reclaims[t] implies not inQuarantine[n] } -> t
  renewed' = renewed - t -> Node and granted' = granted
  acquiring' = acquiring and releasing' = releasing
  phasesUnchanged and nodesUnchanged
}
-- Enough renewals have arrived: the lease rests on this round.
pred winExtension[t: Token] {
  t in Held and enoughToExtend[t, t.renewed]
  granted' = granted - t -> Node + t -> t.renewed and renewed' = renewed - t -> Node
  phasesUnchanged and wiresUnchanged and nodesUnchanged
}
-- An attempt gives up, or a lease is released, ends or is lost. A crashed client sends no release: none is executed.
pred finish[t: Token] {
  t in active
  Trying' = Trying - t and Held' = Held - t and Over' = Over + t
  on[HoldersStop] implies Acting' = Acting - t else Acting' = Acting
  releasing' = releasing + Node -> t and acquiring' = acquiring and extending' = extending
  granted' = granted - t -> Node and renewed' = renewed - t -> Node and nodesUnchanged
}

-- Nodes ------------------------------------------------------------------------------------------------------------

-- At any nodes: at those where it takes effect, keys change.
pred executeAcquire[t: Token] {
  let took = { n: Node | n.key' != n.key } {
    all n: took {
      t in n.acquiring and no n.key[t]
      on[SetIfFree] implies (on[AllOfSet] implies isFree[n, t] else some freeOf[n, t])
      n.key' = n.key - (on[SetIfFree] implies none -> none else Token -> t.needs)
        + t -> (on[SetIfFree] and not on[AllOfSet] implies freeOf[n, t] else t.needs)
    }
    granted' = granted + (t & active) -> took and renewed' = renewed
    lost' = lost - took -> t and dropped' = dropped - took -> t
  }
  phasesUnchanged and wiresUnchanged
}
pred executeExtension[t: Token] {
  all n: Node | extended[n, t] or n.key' = n.key and n.lost' = n.lost and n.dropped' = n.dropped
    and (n in t.renewed' iff n in t.renewed)
  granted' = granted and renewed' - t -> Node = renewed - t -> Node and phasesUnchanged and wiresUnchanged
}
pred extended[n: Node, t: Token] {
  t in n.extending
  let counts = { u: t | has[n, u] or isFree[n, u] and (not on[RepairNoVote] or reclaims[u] and u in n.lost) },
    wronglyCounts = { u: t | not isFree[n, u] and (not on[RefusalNoVote] or not on[ExtendIfOwn]) } {
    n in t.renewed' iff (n in t.renewed or some (counts + wronglyCounts) & Held)
    n.lost' = n.lost - counts and n.dropped' = n.dropped - counts
  }
  n.key' = ((isFree[n, t] or not on[ExtendIfOwn]) implies n.key - (Token - Reader) -> t.needs + t -> t.needs else n.key)
}
pred executeRelease[t: Token] {
  all n: Node | n.key' = n.key
    or t in n.releasing and n.key' = n.key - (on[DeleteIfOwn] implies t else Token) -> t.needs
  votesUnchanged and lost' = lost and dropped' = dropped and phasesUnchanged and wiresUnchanged
}

-- The world --------------------------------------------------------------------------------------------------------

pred expire {
  key' in key and (on[KeysOutlive] implies no n: Node | some (n.key - n.key').Resource & counting[n])
  votesUnchanged and lost' = lost and dropped' = dropped and phasesUnchanged and wiresUnchanged
}
pred drop {
  key' in key and dropped' = dropped + (key - key').Resource and lost' = lost
  votesUnchanged and phasesUnchanged and wiresUnchanged
}
-- A node restarts and forgets any of its keys. Connections end; a release is sent again.
pred restart[n: Node] {
  all m: Node - n | m.key' = m.key
  n.key' in n.key
  lost' = lost + n -> counting[n] and dropped' = dropped
  acquiring' = acquiring - (on[OneProcess] implies n -> Token else none -> none)
  extending' = extending - (on[OneProcess] implies n -> Token else none -> none)
  releasing' = releasing and votesUnchanged and phasesUnchanged
}

pred phasesUnchanged { Trying' = Trying and Held' = Held and Over' = Over and Acting' = Acting }
pred wiresUnchanged { acquiring' = acquiring and extending' = extending and releasing' = releasing }
pred votesUnchanged { granted' = granted and renewed' = renewed }
pred nodesUnchanged { key' = key and lost' = lost and dropped' = dropped }

-- Runs -------------------------------------------------------------------------------------------------------------

pred init {
  no key and no acquiring and no extending and no releasing and no lost and no dropped and no granted and no renewed
  no Trying and no Held and no Over and no Acting
}
pred event {
  (some t: Token | ask[t] or win[t] or extend[t] or winExtension[t] or finish[t]
    or executeAcquire[t] or executeExtension[t] or executeRelease[t])
  or (some n: Node | restart[n]) or expire or drop
}
pred keysKept { on[KeysKept] implies all t: Held | enoughToExtend[t, t.granted - dropped.t] }
pred step { event and keysKept and after keysKept }
pred stutter { phasesUnchanged and wiresUnchanged and nodesUnchanged and votesUnchanged }
pred history { init and always (keysKept and (event or stutter)) }

-- The reason -------------------------------------------------------------------------------------------------------

-- True at the start, kept by every step from any state in which it is true, and enough for exclusion (induction.als).
pred invariant {
  -- Phases are phases, and a token that was not used has left no trace.
  no Trying & Held and no Trying & Over and no Held & Over and Acting in Held
  let unused = Token - active - Over {
    no unused.granted and no unused.renewed and no unused & Node.(acquiring + extending + releasing + lost + dropped)
    no unused & key[Node].Resource
  }
  all t: Over | no t.granted and no t.renewed
  -- Only a lease is extended, and only the client's nodes are asked.
  no Trying.renewed and no Trying & Node.extending
  acquiring + extending in ~(owner.lists.members)
  -- Only an ended lease is released.
  Node.releasing in Over
  -- A node has no two keys that exclude each other.
  all n: Node | no t, u: n.key.Resource | excludes[t, u] and some n.key[t] & n.key[u]
  -- A counted node has the keys, unless it lost them.
  all t: active, n: t.granted + t.renewed | has[n, t] or t in n.lost + n.dropped
  -- Nothing is on the way to a node in quarantine that it could grant.
  all n: Node | inQuarantine[n] implies no n.acquiring and all t: n.extending | reclaims[t]
  -- A node counts for two that exclude each other only if it lost the keys of one outside of a restart.
  all n: Node | no t, u: counting[n] - n.dropped | excludes[t, u]
  -- Two clients that run at the same time share a list.
  all t, u: active | some t.owner.lists & u.owner.lists
}
