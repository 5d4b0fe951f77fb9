/*
 * Clusters as voters: a node of redlock.als is a cluster, or the master that owns the slot of the resource. A failover
 * loses any keys, and the former owner still serves clients that do not know.
 *
 * The silence: a client that knows of the new owner does not ask it until the former one serves no longer, and each
 * lease and attempt that counts its grants is over. Real clients wait for the longest times that both can take.
 */
module clusters
open redlock

one sig Silence extends Rule {}          -- the new owner is asked only after all that count the former one
one sig SilenceServed extends Rule {}    -- and only when the former one serves no longer

var sig Serving in Node {}               -- a former owner still serves
sig Voter in Node { var former: Token -> Resource }      -- what it has
fact { Voter = Node and no Reclaiming }

pred plain { one Resource and no Reader and one List and List.members = Node }

pred isSilent[n: Node] { n in Serving and on[SilenceServed] }
pred formersUnchanged { former' = former and Serving' = Serving }

-- An event of redlock.als at the present owners. While the former one serves, nobody counts the keys of the new one, so
-- a restart forgets nothing.
pred present {
  event and formersUnchanged and no (lost' - lost) & Serving -> Token
  all n: Node | isSilent[n] implies n.acquiring' in n.acquiring and n.extending' in n.extending
}
-- The replica that is promoted lacks any keys. What is on the way reaches the former owner, if any.
pred failOver[n: Node] {
  n not in Serving and Serving' = Serving + n and former' = former - n -> Token -> Resource + n -> n.key
  n.key' in n.key and (all m: Node - n | m.key' = m.key) and lost' = lost and dropped' = dropped
  acquiring' = acquiring - n -> Token and extending' = extending - n -> Token
  releasing' = releasing and votesUnchanged and phasesUnchanged
}
pred formerGrants[n: Node, t: Token] {
  n in Serving and not inQuarantine[n] and no n.former[t] and no u: n.former.Resource | excludes[t, u]
  former' = former + n -> t -> t.needs and granted' = granted + (t & Trying) -> n and renewed' = renewed
  formerServes
}
pred formerRenews[n: Node, t: Token] {
  n in Serving and not inQuarantine[n] and t.needs in n.former[t]
  renewed' = renewed + (t & Held) -> n and granted' = granted and former' = former
  formerServes
}
pred formerLoses {
  former' in former and no n: Node | some (n.former - n.former').Resource & counting[n]
  votesUnchanged and formerServes
}
-- Keys of the new owner that nobody counts, so they may expire at any time.
pred newOwnerLoses {
  key' in key and all n: Node - Serving | no (n.key - n.key').Resource & counting[n] - n.lost
  former' = former and Serving' = Serving and lost' = lost and dropped' = dropped
  votesUnchanged and phasesUnchanged and wiresUnchanged
}
pred formerServes {
  Serving' = Serving and key' = key and lost' = lost and dropped' = dropped and phasesUnchanged and wiresUnchanged
}
pred formerEnds[n: Node] {
  n in Serving and Serving' = Serving - n and former' = former - n -> Token -> Resource
  lost' = lost + n -> (on[Silence] implies counting[n] else none)
  key' = key and dropped' = dropped and phasesUnchanged and wiresUnchanged and votesUnchanged
}
pred clusterStep {
  keysKept and after keysKept
  present or formerLoses or newOwnerLoses or some n: Node {
    failOver[n] or formerEnds[n] or some t: Token | formerGrants[n, t] or formerRenews[n, t]
  }
}

-- As in redlock.als, with the keys of former owners.
pred clusterInvariant {
  no Trying & Held and no Trying & Over and no Held & Over and Acting in Held
  let unused = Token - active - Over {
    no unused.granted and no unused.renewed and no unused & Node.(acquiring + extending + releasing + lost + dropped)
    no unused & key[Node].Resource
  }
  all t: Over | no t.granted and no t.renewed
  Node.releasing in Over
  all n: Node | no t, u: n.key.Resource | excludes[t, u] and some n.key[t] & n.key[u]
  all n: Node | no t, u: n.former.Resource | excludes[t, u] and some n.former[t] & n.former[u]
  all n: Node - Serving | no n.former
  all t: active, n: t.granted + t.renewed |
    t in n.lost + n.dropped or (n in Serving implies t.needs in n.former[t] else has[n, t])
  all n: Node | (n in Serving or inQuarantine[n]) implies no n.acquiring + n.extending
  all n: Node | no t, u: counting[n] - n.dropped | excludes[t, u]
}

check Start { init and no former and no Serving implies clusterInvariant } for 4 but 5 Node, 4 Int, 1 steps expect 0
check StepClusters { no Off and plain and clusterInvariant and clusterStep implies after clusterInvariant }
  for 4 but 5 Node, 4 Int, 2 steps expect 0
check ExclusionClusters { no Off and plain and clusterInvariant and keysKept implies Exclusion }
  for 4 but 5 Node, 4 Int, 1 steps expect 0

-- Without the silence, or with one that does not wait for the former owner.
pred clusterHistory { plain and init and no former and no Serving and always clusterStep }
pred without[r: Rule] { Off = r and clusterHistory }
run Silence_ { without[Silence] and some disj a, b: Token, n: Node {
  ask[a]; executeAcquire[a]; win[a]; failOver[n]; formerEnds[n]; ask[b]; executeAcquire[b]; win[b]; not Exclusion
} } for 1 but 2 Token, exactly 3 Node, 3 Int, 10 steps expect 1
run SilenceServed_ { without[SilenceServed] and some disj a, b: Token, n: Node {
  ask[a]; executeAcquire[a]; failOver[n]; ask[b]; executeAcquire[b]; win[b]; formerGrants[n, a]; win[a]; not Exclusion
} } for 1 but 2 Token, exactly 3 Node, 3 Int, 10 steps expect 1
-- With it, a cluster that has failed over votes again.
run Possible { no Off and clusterHistory and some disj a, b: Token, n: Node {
  ask[a]; executeAcquire[a]; win[a]; failOver[n]; extend[a]; formerRenews[n, a]; formerEnds[n]; finish[a];
  ask[b]; executeAcquire[b]; win[b]; n in b.granted
} } for 1 but 2 Token, exactly 3 Node, 3 Int, 13 steps expect 1
